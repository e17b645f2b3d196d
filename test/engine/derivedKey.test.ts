import { expect, test } from 'vitest'
import { derivedKey } from '../../server/engine/derivedKey.js'
import type { IdempotencyKey, Scope } from '../../server/engine/record.js'

test('a derived key does not change between versions: a rerun after a deploy reaches the outside service with the same one', () => {
  const key = '0190a1b2-c3d4-7abc-8def-0123456789ab' as IdempotencyKey
  // Computed apart from this code: SHA-256 of "5:alice6:charge" and the key, in the places that RFC 9562 leaves free.
  expect(derivedKey(key, 'alice' as Scope, 'charge')).toBe('0190a1b2-c3d4-70de-8e8a-0cb74d866b73')
})

test('scope and name do not run into each other', () => {
  const key = '0190a1b2-c3d4-7abc-8def-0123456789ab' as IdempotencyKey
  const pairs = [
    ['ab', 'c'],
    ['a', 'bc'],
    ['a1:', 'b'],
    ['a', '1:b'],
    ['a', ''],
  ] as const
  expect(new Set(pairs.map(([scope, name]) => derivedKey(key, scope as Scope, name))).size).toBe(pairs.length)
})
