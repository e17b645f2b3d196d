import fc from 'fast-check'
import { v4, v7 } from 'uuid'

/** It stands in inputs, and in what is sent in a key's place, and has to turn up nowhere else. */
export const SECRET = 'hunter2-swordfish'

/** Names and texts that something, somewhere, takes for more than a text. */
const LOADED = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'toJSON', 'length', '~input'],
  ...[
    '~idempotency',
    'polluted',
    '',
    ' ',
    '\0',
    '\u2028',
    'é',
    '😀',
    '\ud800',
    '-0',
    'NaN',
    'undefined',
    '[object Object]',
  ],
]

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.constantFrom(...LOADED), fc.constant(SECRET))

/** JSON as text: with names that occur twice, numbers that no double holds, halves of characters, and `__proto__`. */
export const json: fc.Arbitrary<string> = fc.letrec<{ value: string; list: string; object: string; leaf: string }>(
  (tie) => ({
    leaf: fc.oneof(
      text.map((value) => JSON.stringify(value)),
      fc.constantFrom(
        'null',
        'true',
        '0',
        '-0',
        '1e999',
        '-1E-999',
        '9007199254740993',
        '123456789012345678901234567890',
      ),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
      fc.constantFrom('"\\ud800"', '"\\u0000"', '"\\udfff\\ud800"'),
    ),
    list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join()}]`),
    object: fc
      .array(fc.tuple(text, tie('value')), { maxLength: 4 })
      .map((entries) => `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`),
    value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, tie('leaf'), tie('list'), tie('object')),
  }),
).value

const pollution = fc.constantFrom(
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '[{"__proto__":{"polluted":true,"toJSON":1}}]',
)

/** Deep enough to be beyond any stack, and such that a stack holds. */
const nesting = fc.constantFrom(10, 500, 50_000).map((depth) => '['.repeat(depth) + ']'.repeat(depth))

export const input = fc.oneof(
  { weight: 20, arbitrary: json },
  { weight: 2, arbitrary: pollution },
  { weight: 1, arbitrary: nesting },
)

/** What is sent in the place of a key, some of it keys. */
export const key = fc.oneof(
  fc.constant(0).map(() => v7()),
  fc.constant(0).map(() => v4()),
  fc.constant(0).map(() => v7().toUpperCase()),
  fc.tuple(fc.nat(36), text).map(([at, inside]) => v7().slice(0, at) + inside + v7().slice(at)),
  fc.constantFrom('undefined', 'null', '', SECRET, `${SECRET}${SECRET}`, 'zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz'),
  text,
)

const attempt = fc.oneof(fc.constantFrom('1', '2', '0', '-1', '1.5', '1e308', '"1"', 'null', 'true', '{}'), json)

const carried = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(key, attempt).map(([of, n]) => `{"key":${JSON.stringify(of)},"attempt":${n}}`) },
  { weight: 1, arbitrary: json.map((of) => `{"key":${of},"attempt":1}`) },
  { weight: 1, arbitrary: key.map((of) => JSON.stringify(`"${of}"`)) },
  { weight: 1, arbitrary: json },
)

/** An envelope, or what could be one, as JSON text. */
export const envelope = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(carried, input).map(([of, value]) => `{"~idempotency":${of},"~input":${value}}`) },
  { weight: 1, arbitrary: fc.tuple(carried, input).map(([of, value]) => `{"~idempotency":${of},"a":${value}}`) },
  { weight: 1, arbitrary: input },
)

/** What an HTTP header can hold, in forms that remind of RFC 9651. */
const headerText = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'"\\;,=:*?@ \tabz09-_.~{}()[]<>%é\xff'), maxLength: 30 }),
  key.filter((of) => /^[\x20-\x7e]*$/.test(of)),
)

const headerEntry = fc.oneof(
  { weight: 3, arbitrary: key.map((of) => `"${of}"`) },
  { weight: 1, arbitrary: headerText },
  { weight: 2, arbitrary: fc.tuple(key, headerText).map(([of, n]) => `"${of}";attempt=${n}`) },
  { weight: 1, arbitrary: fc.tuple(headerText, headerText, headerText).map(([a, b, c]) => `${a};${b}=${c}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('""', '', '?1', ':c2Vj:', '1.5', '(a b)', '"', '\\', '""""', ' '.repeat(3000)),
  },
)

/** The header for a batch of so many calls, as `fetch` lets it pass. */
export const header = fc
  .array(headerEntry, { minLength: 1, maxLength: 5 })
  .map((entries) => entries.join(', '))
  .filter((value) => /^[\x20-\x7e\t\xa0-\xff]*$/.test(value))
