import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { Fingerprint } from './record.js'
import { type Serializer, toText } from './serializer.js'

/** Raised when the same input would get another fingerprint than before, so that rows of an older version are known. */
const VERSION = 1

/**
 * Tells a repeat from a reuse: equal for equal inputs of one procedure, whatever the order of their properties, and
 * different for any other. Taken over the input as the transformer would send it, in canonical JSON (RFC 8785).
 *
 * @param input the input as the caller gave it, before any handler could change it
 * @throws whatever the serializer throws for an input that it cannot carry
 */
export function fingerprint(procedure: string, input: unknown, serializer: Serializer): Fingerprint {
  const text = toText(inOrder(input, new Map()), serializer)
  // An input that is undefined is no input that is null: it has no JSON, so it has no text here either.
  const canonical = text === null ? '' : canonicalize(JSON.parse(text))
  const hash = createHash('sha256')
  // The path ends where the line ends; no path holds a line break, so no two pairs read alike.
  hash.update(`${procedure}\n${canonical}`)
  const bytes = new Uint8Array(33)
  bytes[0] = VERSION
  bytes.set(hash.digest(), 1)
  return bytes as Fingerprint
}

/** Whether two fingerprints are the same. */
export function sameFingerprint(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/**
 * A copy with sorted properties. Canonical JSON would sort them too, but a transformer names the places of shared
 * values by the path it met first, and that depends on their order. What is shared stays shared.
 */
function inOrder(value: unknown, copies: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const known = copies.get(value)
  if (known !== undefined) return known
  if (Array.isArray(value)) {
    const copy: unknown[] = []
    copies.set(value, copy)
    for (const item of value) copy.push(inOrder(item, copies))
    return copy
  }
  if (value instanceof Map) {
    const copy = new Map<unknown, unknown>()
    copies.set(value, copy)
    for (const [key, item] of value) copy.set(inOrder(key, copies), inOrder(item, copies))
    return copy
  }
  if (value instanceof Set) {
    const copy = new Set<unknown>()
    copies.set(value, copy)
    for (const item of value) copy.add(inOrder(item, copies))
    return copy
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value // the transformer knows what it is
  const copy: Record<string, unknown> = {}
  copies.set(value, copy)
  for (const key of Object.keys(value).sort()) {
    // Not by assignment: a property named __proto__ would set the prototype instead.
    const item = inOrder((value as Record<string, unknown>)[key], copies)
    Object.defineProperty(copy, key, { value: item, enumerable: true, configurable: true, writable: true })
  }
  return copy
}
