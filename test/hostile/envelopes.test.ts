import { parse, stringify } from 'devalue'
import fc from 'fast-check'
import superjson from 'superjson'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { envelope, input, json, key, SECRET } from './fuzz/arbitraries.js'
import { fuzz } from './fuzz/fuzz.js'
import { type Answer, type HostileServer, serveHostile } from './fuzz/hostileServer.js'

const db = useDatabase()

async function post(server: HostileServer, path: string, body: BodyInit): Promise<Answer[]> {
  const type = typeof body === 'string' ? { 'content-type': 'application/json' } : undefined
  return server.read(
    await fetch(`${server.url}/${path}`, { method: 'POST', headers: { 'x-user': 'alice', ...type }, body }),
  )
}

async function eachSound<Input>(server: HostileServer, inputs: Input[], send: (input: Input) => Promise<unknown>) {
  await Promise.all(inputs.map(send))
  server.expectSound()
}

test('whatever stands in the input, the answer is a result or a refusal, and tells nothing of it', async () => {
  const server = await serveHostile(db.prisma)
  const path = fc.constantFrom('create', 'create', 'leased')
  await fuzz({ inputs: fc.tuple(path, envelope), share: 0.09 }, (inputs) =>
    eachSound(server, inputs, ([to, body]) => post(server, to, body)),
  )
  expect(server.runs).toBeGreaterThan(0)
})

test('the same for bodies that are no JSON any more', async () => {
  const server = await serveHostile(db.prisma)
  const broken = fc.tuple(envelope, fc.nat(200), fc.constantFrom('', '}', '\\', '\0', '"', '{"', `${SECRET}`))
  await fuzz({ inputs: broken, share: 0.03 }, (inputs) =>
    eachSound(server, inputs, ([body, at, end]) => post(server, 'create', body.slice(0, at) + end)),
  )
})

test('the same for the calls of a batch', async () => {
  const server = await serveHostile(db.prisma)
  const batch = fc.array(envelope, { minLength: 1, maxLength: 4 })
  await fuzz({ inputs: batch, share: 0.01, atATime: 10 }, (inputs) =>
    eachSound(server, inputs, async (bodies) => {
      const paths = bodies.map(() => 'create').join()
      const body = `{${bodies.map((of, at) => `"${at}":${of}`).join()}}`
      const answers = await post(server, `${paths}?batch=1`, body)
      expect(answers).toHaveLength(bodies.length)
    }),
  )
})

test('the same for what superjson is told of types', async () => {
  const server = await serveHostile(db.prisma, superjson)
  const type = fc.constantFrom(
    '"Date"',
    '"bigint"',
    '"regexp"',
    '"map"',
    '"set"',
    '"URL"',
    '"Error"',
    '"undefined"',
    '"number"',
    '["custom","x"]',
    '["typed-array","x"]',
    '["class","x"]',
    '["symbol","x"]',
  )
  const place = fc.constantFrom(
    '~input',
    '~idempotency',
    '~idempotency.key',
    '~input.__proto__',
    '__proto__.polluted',
    'constructor.prototype',
    '0',
    '',
  )
  const values = fc.oneof(
    fc
      .array(fc.tuple(place, type), { maxLength: 3 })
      .map((all) => `{${all.map(([at, of]) => `"${at}":[${of}]`).join()}}`),
    fc.tuple(type, json).map(([of, value]) => `[${of},${value}]`),
    json,
  )
  const references = fc.constantFrom(
    '{}',
    '{"~input":["~idempotency"]}',
    '[["~input.__proto__"]]',
    '{"__proto__":["~input"]}',
    '1',
  )
  const body = fc
    .tuple(envelope, values, references)
    .map(([of, types, equal]) => `{"json":${of},"meta":{"values":${types},"referentialEqualities":${equal},"v":1}}`)
  await fuzz(
    { inputs: fc.oneof({ weight: 5, arbitrary: body }, { weight: 1, arbitrary: envelope }), share: 0.06 },
    (inputs) => eachSound(server, inputs, (text) => post(server, 'create', text)),
  )
})

test('the same for what devalue is told of references', async () => {
  const server = await serveHostile(db.prisma, {
    serialize: (value) => stringify(value),
    deserialize: (text: string) => parse(text),
  })
  const named = fc.constantFrom(
    'Date',
    'Set',
    'Map',
    'RegExp',
    'Object',
    'BigInt',
    'null',
    'Uint8Array',
    'ArrayBuffer',
    'URL',
    '__proto__',
  )
  const part = fc.oneof(
    fc.integer({ min: -7, max: 9 }).map(String),
    fc.tuple(named, fc.nat(9), fc.nat(9)).map(([of, a, b]) => `["${of}",${a},${b}]`),
    fc.constantFrom('{"~idempotency":1,"~input":2}', '{"key":3,"attempt":4}', '{"__proto__":1}', '{"a":0}', '[0]', '1'),
    key.map((of) => JSON.stringify(of)),
    json,
  )
  const flat = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => `[${parts.join()}]`)
  const wellFormed = fc
    .tuple(key, fc.array(part, { maxLength: 5 }))
    .map(
      ([of, parts]) =>
        `[{"~idempotency":1,"~input":4},{"key":2,"attempt":3},${JSON.stringify(of)},1,${[...parts, '1'].join()}]`,
    )
  await fuzz({ inputs: fc.oneof(flat, wellFormed, input), share: 0.05 }, (inputs) =>
    eachSound(server, inputs, (text) => post(server, 'create', JSON.stringify(text))),
  )
})

test('the same for forms', async () => {
  const server = await serveHostile(db.prisma)
  const field = fc.tuple(
    fc.oneof(fc.constant('~idempotency'), fc.constantFrom('__proto__', 'a', '~input'), fc.string()),
    fc.oneof(
      key,
      key.map((of) => `"${of}"`),
      fc.string({ unit: 'binary' }),
    ),
  )
  await fuzz({ inputs: fc.array(field, { maxLength: 4 }), share: 0.03 }, (inputs) =>
    eachSound(server, inputs, async (fields) => {
      const form = new FormData()
      for (const [name, value] of fields) form.append(name, value)
      await post(server, 'create', form)
    }),
  )
})
