import { createHash } from 'node:crypto'
import type { IdempotencyKey, Scope } from './record.js'

/**
 * A key for a further call that belongs to an operation: the same one in every attempt at it. It is a UUIDv7 with the
 * birth of its parent and a hash over (key, scope, name) in place of the random bits, so that services which run this
 * library accept it too.
 *
 * @param name tells the calls of one operation apart
 */
export function derivedKey(key: IdempotencyKey, scope: Scope, name: string): string {
  // Lengths before the texts, so that no two triples read alike.
  return keyWithBirthOf(
    key,
    createHash('sha256').update(`${scope.length}:${scope}${name.length}:${name}${key}`).digest('hex'),
  )
}

/**
 * A UUIDv7 with the birth of another, whose 74 other bits are those of a hash.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7
 */
export function keyWithBirthOf(key: IdempotencyKey, hash: string): string {
  const variant = ((Number.parseInt(hash.slice(3, 4), 16) & 0x3) | 0x8).toString(16)
  return `${key.slice(0, 14)}7${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
}
