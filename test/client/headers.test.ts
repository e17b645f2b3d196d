import { createHash, randomBytes } from 'node:crypto'
import {
  createTRPCClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  isNonJsonSerializable,
  splitLink,
  type TRPCLink,
} from '@trpc/client'
import { idempotencyErrorOf, idempotencyHeaders } from 'trpc-idempotency/client'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { caught } from '../support/caught.js'
import { failure, type Scripted, startScriptedServer, success } from '../support/scriptedServer.js'
import { type Shop, untyped } from '../support/untypedClient.js'

const BUSY = failure(-32603, { code: 'SERVICE_UNAVAILABLE' })

function client(endingLink: TRPCLink<Shop>, options: { carrier?: 'header'; attemptTimeoutMs?: number } = {}) {
  return createTRPCClient<Shop>({
    links: [untyped({ mutations: { create: true }, baseDelayMs: 1, ...options }), endingLink],
  })
}

test('by the header: the input goes as it is, beside the key, its attempt and the caller’s own headers', async () => {
  const server = await startScriptedServer([BUSY, success('done')])
  const headers = idempotencyHeaders(() => ({ authorization: 'alice' }))
  const { create } = client(httpLink({ url: server.url, headers }), { carrier: 'header' })
  const key = v7()
  expect(await create.mutate({ item: 'tea' }, { context: { idempotencyKey: key } })).toBe('done')
  expect(server.requests.map(({ body }) => body)).toEqual(['{"item":"tea"}', '{"item":"tea"}'])
  expect(server.requests.map((request) => request.headers)).toMatchObject([
    { 'idempotency-key': `"${key}"`, authorization: 'alice' },
    { 'idempotency-key': `"${key}";attempt=2`, authorization: 'alice' },
  ])
})

test.each([
  ['httpBatchLink', httpBatchLink],
  ['httpBatchStreamLink', httpBatchStreamLink],
] as const)('a batch over %s carries its keys as a list, in the places of its calls', async (_, endingLink) => {
  const done = { result: { data: 'done' } }
  const answers: Scripted = { status: 200, body: [done, done, done] }
  const server = await startScriptedServer([answers])
  const { create, cancel } = client(endingLink({ url: server.url, headers: idempotencyHeaders() }), {
    carrier: 'header',
  })
  const [first, third] = [v7(), v7()]
  // What comes back is no stream; the request is what counts here.
  await Promise.allSettled([
    create.mutate(1, { context: { idempotencyKey: first } }),
    cancel.mutate(2),
    create.mutate(3, { context: { idempotencyKey: third } }),
  ])
  const [request] = server.requests
  expect(request?.path).toBe('/create,cancel,create?batch=1')
  expect(request?.headers['idempotency-key']).toBe(`"${first}","","${third}"`)
})

test('two calls that share one context object have a key each', async () => {
  const done = { result: { data: 'done' } }
  const server = await startScriptedServer([{ status: 200, body: [done, done] }])
  const { create } = client(httpBatchLink({ url: server.url, headers: idempotencyHeaders() }), { carrier: 'header' })
  const context = {}
  await Promise.all([create.mutate(1, { context }), create.mutate(2, { context })])
  const keys = String(server.requests[0]?.headers['idempotency-key']).split(',')
  expect(new Set(keys).size).toBe(2)
  expect(Reflect.ownKeys(context)).toEqual([])
})

test('a request without any key has no such header', async () => {
  const server = await startScriptedServer([success('done')])
  const { cancel } = client(httpLink({ url: server.url, headers: idempotencyHeaders({ 'x-own': '1' }) }), {
    carrier: 'header',
  })
  await cancel.mutate({})
  expect(server.requests[0]?.headers).toMatchObject({ 'x-own': '1' })
  expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key')
})

test('headers that are given as a Headers object or as pairs are kept', async () => {
  const server = await startScriptedServer([success('done')])
  for (const headers of [new Headers({ 'x-own': 'a' }), new Map([['x-own', 'a']])]) {
    const given = idempotencyHeaders(headers as Headers)
    await client(httpLink({ url: server.url, headers: given }), { carrier: 'header' }).create.mutate({})
  }
  expect(server.requests.map((request) => request.headers['x-own'])).toEqual(['a', 'a'])
})

test('bytes go by the header in any case, with the digest of their content', async () => {
  const server = await startScriptedServer([success('done')])
  const bytes = randomBytes(1000)
  const url = server.url
  const { create } = client(
    splitLink({
      condition: (op) => isNonJsonSerializable(op.input),
      true: httpLink({ url, headers: idempotencyHeaders() }),
      false: httpBatchLink({ url }),
    }),
  )
  const context = { idempotencyKey: v7() }
  await create.mutate(new Blob([bytes]), { context })
  await create.mutate(new Uint8Array(bytes), { context })
  const digest = `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`
  for (const { headers } of server.requests) {
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '1000',
      'content-digest': digest,
      'idempotency-key': `"${context.idempotencyKey}"`,
    })
  }
})

test('an ending link that sends no key is found out, whatever the server answers, and nothing is retried', async () => {
  const server = await startScriptedServer([success('done'), BUSY])
  const { create } = client(httpLink({ url: server.url }), { carrier: 'header' })
  const succeeded = await caught(create.mutate({}))
  expect(succeeded.message).toBe(
    'create was sent without its key: the ending link lacks headers: idempotencyHeaders(...).',
  )
  expect(idempotencyErrorOf(succeeded)).toMatchObject({ attempts: 1, outcome: 'EXECUTED', attemptOutcome: 'EXECUTED' })
  const failed = await caught(create.mutate({}))
  expect(failed.message).toBe('as scripted')
  expect(idempotencyErrorOf(failed)).toMatchObject({ attempts: 1, outcome: 'UNKNOWN', attemptOutcome: 'UNKNOWN' })
  expect(server.requests).toHaveLength(2)
})

test('300 keys fit into one request; 340 are refused before anything is sent, and the error says what to do', async () => {
  const done = { result: { data: 'done' } }
  const server = await startScriptedServer([{ status: 200, body: Array.from({ length: 300 }, () => done) }])
  const { create } = client(httpBatchLink({ url: server.url, headers: idempotencyHeaders() }), { carrier: 'header' })
  const calls = (count: number) => Promise.allSettled(Array.from({ length: count }, (_, n) => create.mutate(n)))
  expect(new Set((await calls(300)).map((end) => end.status))).toEqual(new Set(['fulfilled']))
  expect(server.requests).toHaveLength(1)
  for (const end of await calls(340)) {
    const error: unknown = end.status === 'rejected' ? end.reason : undefined
    expect((error as Error).message).toBe(
      'idempotencyHeaders: 340 calls in one request have more keys than a header can hold. Give the batch link maxItems: 100, or let keys travel in the input.',
    )
    expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 1, outcome: 'NOT_EXECUTED' })
  }
  expect(server.requests).toHaveLength(1)
})

test('with maxItems a thousand calls are split into requests whose headers fit', async () => {
  const done = { result: { data: 'done' } }
  const server = await startScriptedServer([{ status: 200, body: Array.from({ length: 100 }, () => done) }])
  const { create } = client(httpBatchLink({ url: server.url, headers: idempotencyHeaders(), maxItems: 100 }), {
    carrier: 'header',
  })
  await Promise.all(Array.from({ length: 1000 }, (_, n) => create.mutate(n)))
  expect(server.requests).toHaveLength(10)
})

test('headers of the caller’s own that cannot be had: nothing was sent, and the error says so', async () => {
  const server = await startScriptedServer([success('done')])
  const headers = idempotencyHeaders(() => Promise.reject(new Error('no token')))
  const error = await caught(client(httpLink({ url: server.url, headers }), { carrier: 'header' }).create.mutate({}))
  expect(error.message).toBe('no token')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 1, outcome: 'NOT_EXECUTED' })
  expect(server.requests).toEqual([])
})

test('an attempt that ends while its headers are still awaited is repeated with the same key', async () => {
  const server = await startScriptedServer([success('done')])
  let asked = 0
  const headers = idempotencyHeaders(() => {
    asked += 1
    return asked === 1 ? new Promise<never>(() => undefined) : {}
  })
  const { create } = client(httpLink({ url: server.url, headers }), { carrier: 'header', attemptTimeoutMs: 50 })
  const context = { idempotencyKey: v7() }
  expect(await create.mutate({}, { context })).toBe('done')
  expect(server.requests.map((request) => request.headers['idempotency-key'])).toEqual([
    `"${context.idempotencyKey}";attempt=2`,
  ])
})
