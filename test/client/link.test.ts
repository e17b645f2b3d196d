import { createTRPCClient, httpBatchLink, httpLink, retryLink, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { idempotencyErrorOf } from 'trpc-idempotency/client'
import { v7, validate, version } from 'uuid'
import { expect, test } from 'vitest'
import { carriedIn } from '../support/carriedIn.js'
import { caught } from '../support/caught.js'
import { failure, type Scripted, startScriptedServer, success } from '../support/scriptedServer.js'
import { type Shop, untyped } from '../support/untypedClient.js'

const IN_FLIGHT = failure(-32009, {
  code: 'CONFLICT',
  idempotency: { reason: 'IN_FLIGHT', attemptOutcome: 'NOT_EXECUTED', retryAfterMs: 5 },
})
const BUSY = failure(-32603, { code: 'SERVICE_UNAVAILABLE' })

/** A client of two mutations, one of them listed, whose retries follow each other at once. */
function client(
  url: string,
  options: { above?: TRPCLink<Shop>[]; maxAttempts?: number; attemptTimeoutMs?: number } = {},
) {
  const { above = [], ...rest } = options
  return createTRPCClient<Shop>({
    links: [
      ...above,
      untyped({ mutations: { create: true }, maxAttempts: 3, baseDelayMs: 1, ...rest }),
      httpLink({ url }),
    ],
  })
}

/** Keys and attempts of requests, read from their bodies. */
function sent(requests: { body: string }[]): { key: string; attempt: number }[] {
  return requests.map(carriedIn)
}

test('a listed mutation carries a UUIDv7, the number of its attempt, and its input untouched', async () => {
  const server = await startScriptedServer([success('done')])
  const input = { item: 'tea' }
  expect(await client(server.url).create.mutate(input)).toBe('done')
  const body = JSON.parse(server.requests[0]?.body ?? '') as Record<string, unknown>
  expect(body).toEqual({ '~idempotency': { key: expect.any(String), attempt: 1 }, '~input': { item: 'tea' } })
  const key = (body['~idempotency'] as { key: string }).key
  expect([validate(key), version(key), key]).toEqual([true, 7, key.toLowerCase()])
  expect(input).toEqual({ item: 'tea' })
})

test('attempts count up under one key until the answer', async () => {
  const server = await startScriptedServer([BUSY, IN_FLIGHT, success('done')])
  expect(await client(server.url).create.mutate({})).toBe('done')
  const carried = sent(server.requests)
  expect(carried.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
  expect(new Set(carried.map(({ key }) => key)).size).toBe(1)
})

test('attempts that are used up end with the last error, the key and what is known', async () => {
  const server = await startScriptedServer([BUSY])
  const error = await caught(client(server.url, { maxAttempts: 4 }).create.mutate({}))
  expect(server.requests).toHaveLength(4)
  expect(error.message).toBe('as scripted')
  const key = sent(server.requests)[0]?.key
  expect(idempotencyErrorOf(error)).toEqual({ key, attempts: 4, outcome: 'UNKNOWN', attemptOutcome: 'UNKNOWN' })
})

test('one mutation can have attempts of its own number', async () => {
  const server = await startScriptedServer([BUSY])
  const links = [untyped({ mutations: { create: { maxAttempts: 2 }, cancel: true }, maxAttempts: 3, baseDelayMs: 1 })]
  const both = createTRPCClient<Shop>({ links: [...links, httpLink({ url: server.url })] })
  await caught(both.create.mutate({}))
  expect(server.requests).toHaveLength(2)
  await caught(both.cancel.mutate({}))
  expect(server.requests).toHaveLength(5)
})

test('a mutation that is not listed is sent once, without a key, whatever happens', async () => {
  const server = await startScriptedServer([BUSY])
  const error = await caught(client(server.url).cancel.mutate({ id: 1 }))
  expect(server.requests.map(({ body }) => body)).toEqual(['{"id":1}'])
  expect(idempotencyErrorOf(error)).toBeUndefined()
})

test('with mutations: all, every mutation has a key, and a query has none', async () => {
  const server = await startScriptedServer([success(1)])
  const all = createTRPCClient<Shop>({ links: [untyped({ mutations: 'all' }), httpLink({ url: server.url })] })
  await all.create.mutate({})
  await all.cancel.mutate({})
  await all.look.query()
  expect(server.requests.map(({ body }) => body.includes('~idempotency'))).toEqual([true, true, false])
})

interface Judged {
  answer: Scripted
  again: boolean
  outcome: string
}

// tRPC's own numbers, written out: which are retried, and what is known once the attempts are used up.
const judged: [name: string, Judged][] = [
  ['PARSE_ERROR', { answer: failure(-32700), again: false, outcome: 'NOT_EXECUTED' }],
  ['BAD_REQUEST', { answer: failure(-32600), again: false, outcome: 'NOT_EXECUTED' }],
  ['UNAUTHORIZED', { answer: failure(-32001), again: false, outcome: 'NOT_EXECUTED' }],
  ['FORBIDDEN', { answer: failure(-32003), again: false, outcome: 'NOT_EXECUTED' }],
  ['NOT_FOUND', { answer: failure(-32004), again: false, outcome: 'NOT_EXECUTED' }],
  ['a CONFLICT of the application', { answer: failure(-32009), again: false, outcome: 'NOT_EXECUTED' }],
  ['a PRECONDITION_FAILED of the application', { answer: failure(-32012), again: false, outcome: 'NOT_EXECUTED' }],
  ['an UNPROCESSABLE_CONTENT of the application', { answer: failure(-32022), again: false, outcome: 'NOT_EXECUTED' }],
  ['CLIENT_CLOSED_REQUEST', { answer: failure(-32099), again: false, outcome: 'UNKNOWN' }],
  ['NOT_IMPLEMENTED', { answer: failure(-32603, { code: 'NOT_IMPLEMENTED' }), again: false, outcome: 'UNKNOWN' }],
  ['TOO_MANY_REQUESTS', { answer: failure(-32029), again: true, outcome: 'NOT_EXECUTED' }],
  ['TIMEOUT', { answer: failure(-32008), again: true, outcome: 'UNKNOWN' }],
  [
    'INTERNAL_SERVER_ERROR',
    { answer: failure(-32603, { code: 'INTERNAL_SERVER_ERROR' }), again: true, outcome: 'UNKNOWN' },
  ],
  ['BAD_GATEWAY', { answer: failure(-32603, { code: 'BAD_GATEWAY' }), again: true, outcome: 'UNKNOWN' }],
  [
    'SERVICE_UNAVAILABLE',
    { answer: failure(-32603, { code: 'SERVICE_UNAVAILABLE' }), again: true, outcome: 'UNKNOWN' },
  ],
  ['GATEWAY_TIMEOUT', { answer: failure(-32603, { code: 'GATEWAY_TIMEOUT' }), again: true, outcome: 'UNKNOWN' }],
  ['an internal error whose formatter dropped the data', { answer: failure(-32603), again: true, outcome: 'UNKNOWN' }],
  ['a number that is not tRPC’s', { answer: failure(503), again: true, outcome: 'UNKNOWN' }],
  ['a success that is not tRPC’s', { answer: { status: 200, body: { ok: true } }, again: true, outcome: 'UNKNOWN' }],
  ['null', { answer: { status: 200, body: null }, again: true, outcome: 'UNKNOWN' }],
]

test.each(judged)('%s: its retry and its outcome', async (_, { answer, again, outcome }) => {
  const server = await startScriptedServer([answer])
  const error = await caught(client(server.url).create.mutate({}))
  expect(server.requests).toHaveLength(again ? 3 : 1)
  expect(idempotencyErrorOf(error)).toMatchObject({ outcome, attempts: server.requests.length })
})

// Every reason of the wire: whether the link sends the same key again, and what is then known of the operation.
const reasons: [reason: string, attemptOutcome: string, then: { again: boolean; outcome: string }][] = [
  ['KEY_MISSING', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['KEY_INVALID', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['KEY_FROM_FUTURE', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['SCOPE_MISSING', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['KEY_REUSED', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['KEY_TOO_OLD', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['IN_FLIGHT', 'NOT_EXECUTED', { again: true, outcome: 'UNKNOWN' }],
  ['LEASE_LOST', 'UNKNOWN', { again: true, outcome: 'UNKNOWN' }],
  ['ABANDONED', 'UNKNOWN', { again: false, outcome: 'UNKNOWN' }],
  ['RESULT_NOT_STORABLE', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['RESULT_NOT_STORABLE', 'EXECUTED', { again: false, outcome: 'EXECUTED' }],
  ['RESULT_TOO_LARGE', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['RESULT_ERASED', 'EXECUTED', { again: false, outcome: 'EXECUTED' }],
  ['TRANSACTION_ESCAPED', 'UNKNOWN', { again: false, outcome: 'UNKNOWN' }],
  ['NESTED', 'NOT_EXECUTED', { again: false, outcome: 'NOT_EXECUTED' }],
  ['STORE_UNAVAILABLE', 'NOT_EXECUTED', { again: true, outcome: 'NOT_EXECUTED' }],
  ['STORE_UNAVAILABLE', 'UNKNOWN', { again: true, outcome: 'UNKNOWN' }],
]

test.each(reasons)('%s (%s): its retry and its outcome', async (reason, attemptOutcome, { again, outcome }) => {
  const server = await startScriptedServer([failure(-32600, { idempotency: { reason, attemptOutcome } })])
  const error = await caught(client(server.url).create.mutate({}))
  expect(server.requests).toHaveLength(again ? 3 : 1)
  expect(idempotencyErrorOf(error)).toMatchObject({ reason, attemptOutcome, outcome })
})

test('a reason that this version does not know is final: a newer server has it, and not to retry is always safe', async () => {
  const data = { idempotency: { reason: 'OF_NEXT_YEAR', attemptOutcome: 'NOT_EXECUTED' } }
  const server = await startScriptedServer([failure(-32603, data), success('done')])
  const error = await caught(client(server.url).create.mutate({}))
  expect(server.requests).toHaveLength(1)
  expect(idempotencyErrorOf(error)).toMatchObject({ reason: 'OF_NEXT_YEAR', outcome: 'NOT_EXECUTED' })
})

test('once an attempt was lost, a later refusal does not make the outcome known', async () => {
  const data = { idempotency: { reason: 'KEY_TOO_OLD', attemptOutcome: 'NOT_EXECUTED' } }
  const server = await startScriptedServer([BUSY, failure(-32012, data)])
  const error = await caught(client(server.url).create.mutate({}))
  expect(idempotencyErrorOf(error)).toMatchObject({ attemptOutcome: 'NOT_EXECUTED', outcome: 'UNKNOWN', attempts: 2 })
})

test.each([
  [-32009, 'CONFLICT'],
  [-32603, 'INTERNAL_SERVER_ERROR'],
])(
  'an error that is stored as the answer (%i) ends the doubt that a lost attempt had left, and is not retried',
  async (code, name) => {
    const data = { code: name, idempotency: { attemptOutcome: 'NOT_EXECUTED', final: true } }
    const server = await startScriptedServer([BUSY, failure(code, data)])
    const error = await caught(client(server.url).create.mutate({}))
    expect(server.requests).toHaveLength(2)
    expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 2, outcome: 'NOT_EXECUTED', final: true })
  },
)

test('a key that the caller brought, and that is too old, may have been executed long ago', async () => {
  const data = { idempotency: { reason: 'KEY_TOO_OLD', attemptOutcome: 'NOT_EXECUTED' } }
  const server = await startScriptedServer([failure(-32012, data)])
  const error = await caught(client(server.url).create.mutate({}, { context: { idempotencyKey: v7() } }))
  expect(idempotencyErrorOf(error)).toMatchObject({ attemptOutcome: 'NOT_EXECUTED', outcome: 'UNKNOWN', attempts: 1 })
})

test('the delay that the server names is kept', async () => {
  const data = { idempotency: { reason: 'IN_FLIGHT', attemptOutcome: 'NOT_EXECUTED', retryAfterMs: 400 } }
  const server = await startScriptedServer([failure(-32009, data), success('done')])
  await client(server.url).create.mutate({})
  const [first, second] = server.requests.map(({ at }) => at)
  // A timer may fire a millisecond early.
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThan(398)
})

test('an attempt without an answer is given up after attemptTimeoutMs and sent again with its key', async () => {
  const server = await startScriptedServer(['hang', success('done')])
  expect(await client(server.url, { attemptTimeoutMs: 100 }).create.mutate({})).toBe('done')
  expect(new Set(sent(server.requests).map(({ key }) => key)).size).toBe(1)
})

test('attempts that all time out say so', async () => {
  const server = await startScriptedServer(['hang'])
  const error = await caught(client(server.url, { attemptTimeoutMs: 20 }).create.mutate({}))
  expect(error.message).toBe('create: no answer within 20 ms')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 3, outcome: 'UNKNOWN' })
})

test('a link that completes without an answer is an unknown outcome, and is retried', async () => {
  const server = await startScriptedServer([success('done')])
  let times = 0
  const completes: TRPCLink<Shop> =
    () =>
    ({ op, next }) => {
      times += 1
      return times > 1 ? next(op) : observable((observer) => observer.complete())
    }
  const links = [untyped({ mutations: { create: true }, baseDelayMs: 1 }), completes, httpLink({ url: server.url })]
  expect(await createTRPCClient<Shop>({ links }).create.mutate({})).toBe('done')
})

test('a retryLink above sends the same key, and adds one attempt each time: retries do not multiply', async () => {
  const server = await startScriptedServer([BUSY])
  const above = [retryLink<Shop>({ retry: ({ attempts }) => attempts < 3 })]
  const error = await caught(client(server.url, { above, maxAttempts: 2 }).create.mutate({}))
  const carried = sent(server.requests)
  expect(new Set(carried.map(({ key }) => key)).size).toBe(1)
  expect(carried.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 4, outcome: 'UNKNOWN' })
})

test('a link above that clones the operation does not cost it its key', async () => {
  const server = await startScriptedServer([BUSY])
  const clones: TRPCLink<AnyTRPCRouter> =
    () =>
    ({ op, next }) =>
      next({ ...op, context: { ...op.context } })
  const above = [retryLink<Shop>({ retry: ({ attempts }) => attempts < 2 }), clones as TRPCLink<Shop>]
  await caught(client(server.url, { above, maxAttempts: 1 }).create.mutate({}))
  expect(server.requests).toHaveLength(2)
  expect(new Set(sent(server.requests).map(({ key }) => key)).size).toBe(1)
})

test('two intents that share one context object have two keys', async () => {
  const server = await startScriptedServer([success('done')])
  const shared = { context: { trace: 'x' } }
  const both = client(server.url)
  await Promise.all([both.create.mutate({}, shared), both.create.mutate({}, shared)])
  expect(new Set(sent(server.requests).map(({ key }) => key)).size).toBe(2)
})

test('two clients count their operations alike, and their intents have keys of their own', async () => {
  const server = await startScriptedServer([BUSY, BUSY, success('done')])
  const link = untyped({ mutations: { create: true }, baseDelayMs: 1 })
  const clients = [1, 2].map(() => createTRPCClient<Shop>({ links: [link, httpLink({ url: server.url })] }))
  await Promise.all(clients.map(({ create }) => create.mutate({})))
  const attempts = sent(server.requests)
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 1, 2, 2])
  const keys = (attempt: number) => new Set(attempts.filter((sent) => sent.attempt === attempt).map(({ key }) => key))
  expect(keys(1).size).toBe(2)
  expect(keys(2)).toEqual(keys(1))
})

test('a key that the caller brings is kept, over two calls', async () => {
  const server = await startScriptedServer([success('done')])
  const context = { idempotencyKey: v7() }
  await client(server.url).create.mutate({}, { context })
  await client(server.url).create.mutate({}, { context })
  expect(sent(server.requests).map(({ key }) => key)).toEqual([context.idempotencyKey, context.idempotencyKey])
})

const badKeys: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['the text "undefined"', 'undefined'],
  ['a number', 12345678901234567890n],
  ['a text with a space', 'a key with spaces in it'],
]

test.each(badKeys)('a given key that is %s is refused before anything is sent', async (_, idempotencyKey) => {
  const server = await startScriptedServer([success('done')])
  const error = await caught(client(server.url).create.mutate({}, { context: { idempotencyKey } }))
  expect(error.message).toContain('create: context.idempotencyKey must be a UUIDv7 in lower case, got')
  expect(server.requests).toEqual([])
})

test('a key given to a mutation that is not listed is refused, for the caller counts on it', async () => {
  const server = await startScriptedServer([success('done')])
  const error = await caught(client(server.url).cancel.mutate({}, { context: { idempotencyKey: v7() } }))
  expect(error.message).toBe('cancel: context.idempotencyKey is given for a path that mutations does not list')
  expect(server.requests).toEqual([])
})

test('an abort while an attempt is under way ends the call at once, and says that it may have been executed', async () => {
  const server = await startScriptedServer(['hang'])
  const controller = new AbortController()
  const call = caught(client(server.url).create.mutate({}, { signal: controller.signal }))
  await expect.poll(() => server.requests.length).toBe(1)
  const start = performance.now()
  controller.abort()
  const error = await call
  expect(performance.now() - start).toBeLessThan(50)
  expect(error.message).toBe(
    'create was aborted: it may have been executed; send it again with the same idempotency key to find out.',
  )
  expect((error.cause as Error).name).toBe('AbortError')
  const key = sent(server.requests)[0]?.key
  expect(idempotencyErrorOf(error)).toEqual({ key, attempts: 1, outcome: 'UNKNOWN', attemptOutcome: 'UNKNOWN' })
})

test('an abort during a delay ends the call at once, and no further attempt is made', async () => {
  const data = { idempotency: { reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED', retryAfterMs: 5000 } }
  const server = await startScriptedServer([failure(-32603, data)])
  let answered: () => void = () => undefined
  const answer = new Promise<void>((resolve) => {
    answered = resolve
  })
  const noticing: TRPCLink<Shop> =
    () =>
    ({ op, next }) =>
      observable((observer) =>
        next(op).subscribe({
          ...observer,
          error(error) {
            observer.error(error) // the link above begins its delay in here
            answered()
          },
        }),
      )
  const links = [untyped({ mutations: { create: true } }), noticing, httpLink({ url: server.url })]
  const controller = new AbortController()
  const call = caught(createTRPCClient<Shop>({ links }).create.mutate({}, { signal: controller.signal }))
  await answer
  const start = performance.now()
  controller.abort()
  const error = await call
  expect(performance.now() - start).toBeLessThan(50)
  expect(error.message).toBe('create was aborted: it was not executed.')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 1, outcome: 'NOT_EXECUTED' })
  expect(server.requests).toHaveLength(1)
})

test('an abort before the start sends nothing', async () => {
  const server = await startScriptedServer([success('done')])
  const error = await caught(client(server.url).create.mutate({}, { signal: AbortSignal.abort() }))
  expect(error.message).toBe('create was aborted: it was not executed.')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 0, outcome: 'NOT_EXECUTED' })
  expect(server.requests).toEqual([])
})

test('an abort of one call in a batch ends that call, though the other goes on', async () => {
  const server = await startScriptedServer(['hang'])
  const links = [untyped({ mutations: { create: true } }), httpBatchLink({ url: server.url })]
  const batching = createTRPCClient<Shop>({ links })
  const [one, other] = [new AbortController(), new AbortController()]
  const calls = [one, other].map(({ signal }) => caught(batching.create.mutate({}, { signal })))
  await expect.poll(() => server.requests.length).toBe(1)
  one.abort()
  expect((await calls[0])?.message).toContain('was aborted')
  other.abort()
  await calls[1]
})

test('an error of another origin says nothing of idempotency', () => {
  for (const error of [new Error('x'), null, undefined, 'x', { meta: {} }]) {
    expect(idempotencyErrorOf(error)).toBeUndefined()
  }
})
