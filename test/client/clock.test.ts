import { createTRPCClient, httpLink } from '@trpc/client'
import { idempotencyErrorOf } from 'trpc-idempotency/client'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { birthOf } from '../support/birthOf.js'
import { carriedIn } from '../support/carriedIn.js'
import { caught } from '../support/caught.js'
import { failure, type Scripted, startScriptedServer, success } from '../support/scriptedServer.js'
import { type Shop, untyped } from '../support/untypedClient.js'

const BUSY = failure(-32603, { code: 'SERVICE_UNAVAILABLE' })
/** Some time in 2033, by a server whose clock is right. */
const NOW = 2_000_000_000_000

const tooOld = refusal({ reason: 'KEY_TOO_OLD' })
const fromTheFuture = (retryAfterMs: number) => refusal({ reason: 'KEY_FROM_FUTURE', retryAfterMs })

function refusal(data: object, serverTimeMs: unknown = NOW): Scripted {
  return failure(-32600, { idempotency: { attemptOutcome: 'NOT_EXECUTED', serverTimeMs, ...data } })
}

function client(url: string, maxAttempts = 5) {
  return createTRPCClient<Shop>({
    links: [untyped({ mutations: { create: true }, maxAttempts, baseDelayMs: 1 }), httpLink({ url })],
  })
}

/** The keys that were sent, and the times that they were born at, to the minute. */
function sent(requests: { body: string }[]): { keys: string[]; minutesOff: number[] } {
  const keys = requests.map((request) => carriedIn(request).key)
  return { keys, minutesOff: keys.map((key) => Math.round((birthOf(key) - NOW) / 60_000)) }
}

test.each([
  ['too old', tooOld],
  ['from the future', fromTheFuture(86_400_000)],
])('a key that this call made and sent once is %s: a new one by the server’s clock is sent at once', async (_, no) => {
  const server = await startScriptedServer([no, success('done')])
  expect(await client(server.url).create.mutate({})).toBe('done')
  const { keys, minutesOff } = sent(server.requests)
  expect(new Set(keys).size).toBe(2)
  expect(minutesOff[0]).not.toBe(0)
  expect(minutesOff[1]).toBe(0)
})

test('the clock is remembered: the next mutation’s first key is of the server’s time', async () => {
  const server = await startScriptedServer([tooOld, success('done')])
  const { create } = client(server.url)
  await create.mutate({})
  await create.mutate({})
  const { keys, minutesOff } = sent(server.requests)
  expect(new Set(keys).size).toBe(3)
  expect(minutesOff.slice(1)).toEqual([0, 0])
})

test('a key that the caller brought is never replaced', async () => {
  const server = await startScriptedServer([tooOld])
  const key = v7()
  const error = await caught(client(server.url).create.mutate({}, { context: { idempotencyKey: key } }))
  expect(sent(server.requests).keys).toEqual([key])
  expect(idempotencyErrorOf(error)).toMatchObject({ key, reason: 'KEY_TOO_OLD', outcome: 'UNKNOWN' })
})

test('a key that was sent before is never replaced: an earlier attempt may have been executed with it', async () => {
  const server = await startScriptedServer([BUSY, tooOld])
  const error = await caught(client(server.url).create.mutate({}))
  expect(new Set(sent(server.requests).keys).size).toBe(1)
  expect(server.requests).toHaveLength(2)
  expect(idempotencyErrorOf(error)).toMatchObject({ reason: 'KEY_TOO_OLD', outcome: 'UNKNOWN' })
})

test('a second new key is not tried', async () => {
  const server = await startScriptedServer([tooOld])
  const error = await caught(client(server.url).create.mutate({}))
  const { keys } = sent(server.requests)
  expect(new Set(keys).size).toBe(2)
  expect(server.requests).toHaveLength(2)
  expect(idempotencyErrorOf(error)).toMatchObject({ key: keys[1], attempts: 2, outcome: 'NOT_EXECUTED' })
})

test('a key that is soon young enough is not replaced: a second delivery of its request could be executed', async () => {
  const server = await startScriptedServer([fromTheFuture(300_000), success('done')])
  const { create } = client(server.url)
  const error = await caught(create.mutate({}))
  expect(server.requests).toHaveLength(1)
  expect(idempotencyErrorOf(error)).toMatchObject({ reason: 'KEY_FROM_FUTURE', outcome: 'NOT_EXECUTED' })
  // But the next one is of the right time.
  await create.mutate({})
  expect(sent(server.requests).minutesOff[1]).toBe(0)
})

test('where one attempt is all, it is not replaced', async () => {
  const server = await startScriptedServer([tooOld])
  await caught(client(server.url, 1).create.mutate({}))
  expect(server.requests).toHaveLength(1)
})

test.each([undefined, 'soon', -1, Number.NaN, 2 ** 48])('a server’s time of %s is none', async (serverTimeMs) => {
  const server = await startScriptedServer([refusal({ reason: 'KEY_TOO_OLD' }, serverTimeMs ?? null)])
  await caught(client(server.url).create.mutate({}))
  expect(server.requests).toHaveLength(1)
})
