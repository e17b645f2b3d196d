import fc from 'fast-check'
import { validate, version } from 'uuid'
import { expect, test } from 'vitest'
import { mintKey } from '../../client/mint.js'
import { birthOf } from '../support/birthOf.js'

test('a key is a UUIDv7 in lower case that carries its birth, for any time that one can carry', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), (birth) => {
      const key = mintKey(birth)
      expect([validate(key), version(key), key]).toEqual([true, 7, key.toLowerCase()])
      expect(birthOf(key)).toBe(birth)
    }),
  )
})

test('keys of one millisecond differ, in each bit that is left to chance', () => {
  const keys = Array.from({ length: 1000 }, () => mintKey(1_800_000_000_000))
  expect(new Set(keys).size).toBe(1000)
  const digits = keys.map((key) => key.replaceAll('-', ''))
  for (let place = 12; place < 32; place += 1) {
    const seen = new Set(digits.map((digit) => digit[place]))
    // The version is always 7; of the variant's digit two bits are left.
    expect(seen.size).toBe(place === 12 ? 1 : place === 16 ? 4 : 16)
  }
})
