import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sameInput } from '../../client/sameInput.js'

test('an input is the same as a copy of it, and no other', () => {
  const json = fc.jsonValue()
  fc.assert(
    fc.property(json, (input) => {
      expect(sameInput(input, structuredClone(input))).toBe(true)
    }),
  )
  fc.assert(
    fc.property(json, json, (a, b) => {
      expect(sameInput(a, b)).toBe(print(a) === print(b))
    }),
  )
})

/** Without regard to the order of names. */
function print(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(print).join()}]`
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : JSON.stringify(value)
  const names = Object.entries(value).map(([name, part]) => `${JSON.stringify(name)}:${print(part)}`)
  return `{${names.sort().join()}}`
}

const form = (...entries: [string, string | Blob][]) => {
  const filled = new FormData()
  for (const [name, value] of entries) filled.append(name, value)
  return filled
}

const file = new File(['tea'], 'tea.txt')

class Money {
  constructor(readonly cents: number) {}
}
const price = new Money(350)

test.each<[string, [unknown, unknown], boolean]>([
  ['two dates of one time', [new Date(0), new Date(0)], true],
  ['two dates of two times', [new Date(0), new Date(1)], false],
  ['a date and its text', [new Date(0), new Date(0).toJSON()], false],
  ['two equal bigints', [2n ** 70n, 2n ** 70n], true],
  ['two forms with the same file', [form(['a', 'b'], ['file', file]), form(['a', 'b'], ['file', file])], true],
  ['two forms in another order', [form(['a', '1'], ['b', '2']), form(['b', '2'], ['a', '1'])], false],
  ['two forms with other files', [form(['file', file]), form(['file', new File(['cake'], 'tea.txt')])], false],
  ['an object of a class and itself', [{ price }, { price }], true],
  ['two objects of a class, whatever is in them', [new Money(350), new Money(350)], false],
  ['two maps, whatever is in them', [new Map(), new Map([['a', 1]])], false],
  ['a list and an object with the same names', [['a'], { 0: 'a' }], false],
  ['a value and none', [{ note: undefined }, {}], false],
  ['nothing and nothing', [undefined, undefined], true],
  ['null and nothing', [null, undefined], false],
])('%s', (_title, [a, b], same) => {
  expect([sameInput(a, b), sameInput(b, a)]).toEqual([same, same])
})
