import fc from 'fast-check'
import { expect, test } from 'vitest'
import { headerEntry, readHeaderEntry } from '../../wire/header.js'

const KEY = '01890a5d-ac96-774b-bcce-b302099a8057'
const carried = (attempt: number, key = KEY) => ({ kind: 'carried', carried: { key, attempt } })

test.each([
  ['a string, as RFC 9651 spells it', `"${KEY}"`, carried(1)],
  ['a bare token', KEY, carried(1)],
  ['white space around it', `  "${KEY}"\t`, carried(1)],
  ['its attempt', `"${KEY}";attempt=2`, carried(2)],
  ['its attempt after white space', `"${KEY}" ; attempt=2`, carried(2)],
  ['the attempt of a bare token', `${KEY};attempt=12`, carried(12)],
  ['parameters that are not ours', `"${KEY}";a;b="c,d";attempt=3;e=f`, carried(3)],
  ['characters that are escaped', '"sixteen\\"chars\\\\long"', carried(1, 'sixteen"chars\\long')],
  ['a text, to be refused as a key', 'undefined', carried(1, 'undefined')],
  ['nothing', '', { kind: 'none' }],
  ['an empty string', '""', { kind: 'none' }],
  ['an attempt of zero', `"${KEY}";attempt=0`, { kind: 'malformed' }],
  ['an attempt that is no number', `"${KEY}";attempt=two`, { kind: 'malformed' }],
  ['half an attempt', `"${KEY}";attempt=1.5`, { kind: 'malformed' }],
  ['a string that does not end', `"${KEY}`, { kind: 'malformed' }],
  ['two words', `${KEY} ${KEY}`, { kind: 'malformed' }],
  ['something after the string', `"${KEY}"x`, { kind: 'malformed' }],
  ['characters outside of ASCII', '"schlüssel-schlüssel"', { kind: 'malformed' }],
])('%s is read from the header', (_, value, expected) => {
  expect(readHeaderEntry(value, 0)).toEqual(expected)
})

test('each call of a batch finds its own key in the list, or none', () => {
  const value = `"${KEY}";attempt=2, "", ${KEY},"a,b"`
  expect([0, 1, 2, 3, 4, 99].map((index) => readHeaderEntry(value, index))).toEqual([
    carried(2),
    { kind: 'none' },
    carried(1),
    carried(1, 'a,b'),
    { kind: 'none' },
    { kind: 'none' },
  ])
})

test('what comes before a malformed entry is read, and what comes after it is not', () => {
  const value = `"${KEY}", "x, "${KEY}"`
  expect(readHeaderEntry(value, 0)).toEqual(carried(1))
  expect(readHeaderEntry(value, 1)).toEqual({ kind: 'malformed' })
  expect(readHeaderEntry(value, 2)).toEqual({ kind: 'malformed' })
})

test('whatever keys and attempts a batch has, they are read as they were written', () => {
  const key = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 1,
  })
  const entry = fc.record({ key, attempt: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }) })
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1 }), fc.constantFrom(',', ', '), (entries, separator) => {
      const value = entries.map(headerEntry).join(separator)
      expect(entries.map((_, index) => readHeaderEntry(value, index))).toEqual(
        entries.map((carried) => ({ kind: 'carried', carried })),
      )
    }),
  )
})

test('no header, however hostile, takes long to read', () => {
  for (const value of ['"'.repeat(16_000), ';a'.repeat(8_000), `${' '.repeat(16_000)}"`, 'a;b="'.repeat(3_000)]) {
    const start = performance.now()
    readHeaderEntry(value, 0)
    readHeaderEntry(value, 10_000)
    expect(performance.now() - start).toBeLessThan(200)
  }
})
