import fc from 'fast-check'
import { v7, validate, version } from 'uuid'
import { expect, test } from 'vitest'
import { deriveKey } from '../../client/derivedKey.js'
import { mintKey } from '../../client/mint.js'
import { birthOf } from '../support/birthOf.js'

test('a derived key is what it always was: it must not change while an intent is under way', () => {
  // Worked out by another program, from FNV-1a's published offset and prime.
  const parent = '01955d5c-2b7d-7e6f-9a3b-5d0f8c1e4a72'
  expect([1, 2].map((ordinal) => deriveKey(parent, ordinal, 'order.create'))).toEqual([
    '01955d5c-2b7d-794a-92ef-3191d91ca94f',
    '01955d5c-2b7d-7556-b4bf-1662cd8998c8',
  ])
})

test('a derived key is a UUIDv7 in lower case with its parent’s birth, and not its parent', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 48 - 1 }),
      fc.integer({ min: 1 }),
      fc.string(),
      (birth, ordinal, path) => {
        const parent = mintKey(birth)
        const key = deriveKey(parent, ordinal, path)
        expect([validate(key), version(key), key]).toEqual([true, 7, key.toLowerCase()])
        expect(birthOf(key)).toBe(birth)
        expect(key).not.toBe(parent)
        expect(deriveKey(parent, ordinal, path)).toBe(key)
      },
    ),
  )
})

test('keys of one parent differ in ordinal or path, and those of two parents of one millisecond differ', () => {
  const parents = Array.from({ length: 20 }, () => mintKey(1_800_000_000_000))
  const paths = ['a', 'b', 'ab', 'ba', 'order.create', 'order.cancel', '1', '11', ':', 'é', 'order.create2']
  const keys = parents.flatMap((parent) =>
    paths.flatMap((path) => Array.from({ length: 50 }, (_, ordinal) => deriveKey(parent, ordinal + 1, path))),
  )
  expect(new Set(keys).size).toBe(20 * 11 * 50)
})

test('each free bit of a derived key depends on ordinal and path', () => {
  const parent = v7()
  const digits = Array.from({ length: 500 }, (_, ordinal) =>
    deriveKey(parent, ordinal + 1, 'order.create').replaceAll('-', ''),
  )
  for (let place = 13; place < 32; place += 1) {
    expect(new Set(digits.map((digit) => digit[place])).size).toBe(place === 16 ? 4 : 16)
  }
})
