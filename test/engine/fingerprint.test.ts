import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import superjson from 'superjson'
import { expect, test } from 'vitest'
import { canonicalText, fingerprint } from '../../server/engine/fingerprint.js'
import { jsonSerializer, type Serializer } from '../../server/engine/serializer.js'

const hex = (value: unknown, serializer: Serializer, procedure = 'order.create') =>
  Buffer.from(fingerprint(procedure, canonicalText(value, serializer))).toString('hex')

/** Leaves that are easily mistaken for each other, and any others. */
const leaf = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, true, 'true', 0, -0, '0', 1, '1', 1n, '1n', '', 'null', 'undefined'),
  fc.constantFrom<unknown>(Number.NaN, 'NaN', Number.POSITIVE_INFINITY, new Date(0), new Date(0).toISOString(), 0n),
  fc.constantFrom<unknown>(/a/, '/a/', new URL('https://a.example'), 'https://a.example/'),
  fc.string({ unit: 'binary' }),
  fc.double(),
  fc.bigInt(),
  fc.date({ noInvalidDate: true }),
)

/** Everything that superjson carries. Few property names, so that values of the same form meet. */
const { tree: superjsonValue } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    leaf,
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'a.b', '0', 'json', 'meta', ''), tie('tree'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
    fc.array(fc.tuple(leaf, tie('tree')), { maxLength: 2 }).map((entries) => new Map(entries)),
    fc.array(tie('tree'), { maxLength: 3 }).map((items) => new Set(items)),
  ),
}))

const kinds: [string, Serializer, fc.Arbitrary<unknown>][] = [
  ['superjson', superjson, superjsonValue],
  ['plain JSON', jsonSerializer, fc.jsonValue()],
]

test.each(kinds)('under %s the order of properties never matters', (_, serializer, values) => {
  fc.assert(
    fc.property(values, fc.infiniteStream(fc.nat()), (value, numbers) => {
      const shuffled = reordered(value, () => Number(numbers.next().value), new Map())
      expect(hex(shuffled, serializer)).toBe(hex(value, serializer))
    }),
    { numRuns: 1000 },
  )
})

test('the order of properties never matters to values that stand in several places', () => {
  fc.assert(
    fc.property(superjsonValue, fc.infiniteStream(fc.nat()), (shared, numbers) => {
      const value = { b: shared, a: { d: shared, c: [shared] } }
      const shuffled = reordered(value, () => Number(numbers.next().value), new Map())
      expect(hex(shuffled, superjson)).toBe(hex(value, superjson))
    }),
    { numRuns: 500 },
  )
})

test.each(kinds)('under %s any changed leaf changes the fingerprint', (_, serializer, values) => {
  fc.assert(
    fc.property(
      values,
      fc.nat(),
      serializer === superjson ? leaf : fc.jsonValue({ maxDepth: 0 }),
      (value, index, other) => {
        const leaves = countLeaves(value)
        fc.pre(leaves > 0)
        const changed = withLeaf(value, { left: index % leaves, other })
        fc.pre(!isDeepStrictEqual(changed, value))
        expect(hex(changed, serializer)).not.toBe(hex(value, serializer))
      },
    ),
    { numRuns: 2000 },
  )
})

test.each(kinds)('under %s no two different values collide', (_, serializer, values) => {
  fc.assert(
    fc.property(values, values, (a, b) => {
      if (hex(a, serializer) === hex(b, serializer)) expect(isDeepStrictEqual(a, b)).toBe(true)
    }),
    { numRuns: 3000 },
  )
})

const lookAlikes: unknown[] = [
  undefined,
  null,
  '',
  0,
  -0,
  '0',
  1,
  '1',
  1n,
  true,
  'true',
  Number.NaN,
  'NaN',
  new Date(0),
  '1970-01-01T00:00:00.000Z',
  [],
  {},
  new Map(),
  new Set(),
  [undefined],
  [null],
  { a: undefined },
  { a: null },
  new Map([['a', null]]),
  new Set(['a']),
  ['a'],
  [['a', null]],
]

test('values that look alike under superjson have fingerprints of their own', () => {
  const prints = lookAlikes.map((value) => hex(value, superjson))
  expect(new Set(prints).size).toBe(lookAlikes.length)
})

test('under plain JSON undefined is not null, and 1 is not "1"', () => {
  const values = [undefined, null, 1, '1', true, 'true', [], {}, '', [null], { a: null }]
  expect(new Set(values.map((value) => hex(value, jsonSerializer))).size).toBe(values.length)
})

test('the same input to another procedure has another fingerprint', () => {
  expect(hex({ a: 1 }, jsonSerializer, 'order.create')).not.toBe(hex({ a: 1 }, jsonSerializer, 'order.cancel'))
})

test('a fingerprint does not change between versions: a retry after a deploy is still a repeat', () => {
  // Computed apart from this code: version 1, then SHA-256 of "order.create", a line break and the canonical JSON.
  expect(hex({ item: 'tea', cents: 350 }, jsonSerializer)).toBe(
    '010f9c1d7f5726b873b4500a98318921fd12249f57bf0fd74e0f9c2ed0cf5f3e3c',
  )
})

test('a property named __proto__ is a property like any other', () => {
  const plain: unknown = JSON.parse('{"a":1}')
  const special: unknown = JSON.parse('{"a":1,"__proto__":{"b":2}}')
  const other: unknown = JSON.parse('{"a":1,"__proto__":{"b":3}}')
  expect(new Set([plain, special, other].map((value) => hex(value, jsonSerializer))).size).toBe(3)
})

test('an input that a kilobyte of sharing would unfold to a billion values is refused at once', () => {
  let value: unknown = 'leaf'
  for (let depth = 0; depth < 30; depth += 1) value = { left: value, right: value }
  expect(() => hex(value, superjson)).toThrow('the input unfolds to')
})

test('a large input that shares nothing is no reason to refuse it', () => {
  const value = [Array.from({ length: 1_500_000 }, (_, index) => index), [[1], [2]]]
  expect(hex(value, jsonSerializer)).toHaveLength(66)
})

test('an input that holds itself has a fingerprint, where the transformer carries it', () => {
  const value: Record<string, unknown> = { name: 'loop' }
  value['self'] = value
  const other: Record<string, unknown> = { name: 'other loop' }
  other['self'] = other
  expect(hex(value, superjson)).not.toBe(hex(other, superjson))
})

/** A deep copy whose properties come in another order; what was shared is shared again. */
function reordered(value: unknown, next: () => number, copies: Map<unknown, unknown>): unknown {
  if (copies.has(value)) return copies.get(value)
  const again = (item: unknown) => reordered(item, next, copies)
  const keep = <Copy>(copy: Copy) => {
    copies.set(value, copy)
    return copy
  }
  if (Array.isArray(value)) return keep(value.map(again))
  if (value instanceof Map) return keep(new Map([...value].map(([key, item]) => [again(key), again(item)])))
  if (value instanceof Set) return keep(new Set([...value].map(again)))
  if (!isPlain(value)) return value
  const entries = Object.entries(value).map(([key, item]) => ({ key, item: again(item), place: next() }))
  entries.sort((a, b) => a.place - b.place)
  return keep(fromEntries(entries.map(({ key, item }) => [key, item])))
}

function countLeaves(value: unknown): number {
  const parts = partsOf(value)
  return parts === undefined ? 1 : parts.reduce<number>((sum, part) => sum + countLeaves(part), 0)
}

/** The same value with one of its leaves replaced. */
function withLeaf(value: unknown, at: { left: number; other: unknown }): unknown {
  const parts = partsOf(value)
  if (parts === undefined) {
    at.left -= 1
    return at.left === -1 ? at.other : value
  }
  const changed = parts.map((part) => withLeaf(part, at))
  if (Array.isArray(value)) return changed
  if (value instanceof Map) return new Map([...value.keys()].map((key, index) => [key, changed[index]]))
  if (value instanceof Set) return new Set(changed)
  return fromEntries(Object.keys(value as object).map((key, index) => [key, changed[index]]))
}

function partsOf(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (value instanceof Map) return [...value.values()]
  if (value instanceof Set) return [...value]
  return isPlain(value) ? Object.values(value) : undefined
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function fromEntries(entries: [string, unknown][]): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const [key, value] of entries) {
    Object.defineProperty(made, key, { value, enumerable: true, configurable: true, writable: true })
  }
  return made
}
