import { MutationObserver, QueryClient } from '@tanstack/react-query'
import { createTRPCClient, httpLink } from '@trpc/client'
import { TRPCError } from '@trpc/server'
import { idempotencyErrorOf, idempotencyLink } from 'trpc-idempotency/client'
import { bindIdempotency, createIntent, type IntentOptions, IntentUnresolvedError } from 'trpc-idempotency/react-query'
import { beforeEach, expect, test } from 'vitest'
import { birthOf } from '../support/birthOf.js'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { serve } from '../support/httpServer.js'
import { failure, startScriptedServer, success } from '../support/scriptedServer.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'
import { type Shop as ScriptedShop, untyped } from '../support/untypedClient.js'
import { keysIn } from './page.js'

const db = useDatabase()

const tea = { item: 'tea', cents: 350 }
const cake = { item: 'cake', cents: 500 }
const rowOf = (order: typeof tea) => ({ customer: 'alice', ...order })

beforeEach(() => db.query('truncate orders'))

/** A shop that has nothing for free. */
function createShop() {
  const idempotent = shopIdempotency(db.prisma).transaction(authed).input(OrderInput)
  const create = idempotent.mutation(async ({ ctx, input }) => {
    const { id } = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
    if (input.cents === 0) throw new TRPCError({ code: 'BAD_REQUEST', message: 'nothing is for free' })
    return { id, item: input.item }
  })
  return t.router({ create, confirm: create })
}
type Shop = ReturnType<typeof createShop>

async function start(plan: Fault[], options: IntentOptions = {}) {
  const { url, bodies } = await startFaultProxy(await serve(createShop()), plan)
  const mutations = { create: true, confirm: true } as const
  const client = createTRPCClient<Shop>({
    links: [idempotencyLink<Shop>({ mutations, maxAttempts: 1 }), httpLink({ url, headers: { 'x-user': 'alice' } })],
  })
  const intent = createIntent((input: typeof tea) => client.create.mutate(input), options)
  return { client, intent, bodies }
}

test('a double click is one intent: one request, one order, one answer; after its success the next run is a new one', async () => {
  const { intent, bodies } = await start([])
  const [first, second] = await Promise.all([intent.run(tea), intent.run({ ...tea })])
  expect(second).toBe(first)
  expect(bodies).toHaveLength(1)
  await intent.run(tea)
  expect(new Set(keysIn(bodies)).size).toBe(2)
  expect(await db.orders()).toEqual([rowOf(tea), rowOf(tea)])
})

test('while an input is in flight, another one is refused: nobody knows which of them is wanted', async () => {
  const { intent, bodies } = await start([])
  const first = intent.run(tea)
  expect(await caught(intent.run(cake))).toBeInstanceOf(IntentUnresolvedError)
  await first
  expect(bodies).toHaveLength(1)
})

test('after an unknown outcome another input is refused, until retry() has found out', async () => {
  const { intent, bodies } = await start(['cutAfter'])
  expect(idempotencyErrorOf(await caught(intent.run(tea)))?.outcome).toBe('UNKNOWN')
  const error = await caught(intent.run(cake))
  expect(error).toBeInstanceOf(IntentUnresolvedError)
  expect(error).toMatchObject({ name: 'IntentUnresolvedError', key: keysIn(bodies)[0] })
  expect(bodies).toHaveLength(1)
  expect(await intent.retry()).toMatchObject({ item: 'tea' })
  expect(await db.orders()).toEqual([rowOf(tea)])
  await intent.run(cake)
  const [first, again, other] = keysIn(bodies)
  expect([again === first, other === first]).toEqual([true, false])
  expect(await db.orders()).toEqual([rowOf(tea), rowOf(cake)])
})

test('after an unknown outcome the same input is sent with the same key', async () => {
  const { intent, bodies } = await start(['cutAfter', 'cutAfter'])
  for (const _ of [1, 2]) await caught(intent.run({ ...tea }))
  await intent.run({ ...tea })
  expect(new Set(keysIn(bodies)).size).toBe(1)
  expect(await db.orders()).toEqual([rowOf(tea)])
})

test('abandoned after an unknown outcome, the next run is a new intent', async () => {
  const { intent, bodies } = await start(['cutAfter'])
  await caught(intent.run(tea))
  intent.abandon()
  await intent.run(cake)
  expect(new Set(keysIn(bodies)).size).toBe(2)
  expect(await caught(intent.retry())).toBeInstanceOf(TypeError)
})

test('abandoned while it is in flight, its end changes nothing of the next one', async () => {
  const ends: ((error: Error) => void)[] = []
  const intent = createIntent((_input: string) => new Promise((_, reject) => ends.push(reject)))
  const abandoned = caught(intent.run('tea'))
  intent.abandon()
  const next = caught(intent.run('cake'))
  ends[0]?.(new Error('lost'))
  await abandoned
  expect(intent.status).toBe('in flight')
  ends[1]?.(new Error('lost'))
  await next
  expect(intent.status).toBe('unresolved')
})

test('known not to be executed: the same input keeps its key, and another input gets a new one', async () => {
  const { intent, bodies } = await start([])
  const free = { ...tea, cents: 0 }
  for (const _ of [1, 2]) expect(idempotencyErrorOf(await caught(intent.run(free)))?.outcome).toBe('NOT_EXECUTED')
  expect(intent.status).toBe('not executed')
  await caught(intent.retry())
  await intent.run(tea)
  const keys = keysIn(bodies)
  expect(new Set(keys.slice(0, 3)).size).toBe(1)
  expect(keys[3]).not.toBe(keys[0])
  expect(await db.orders()).toEqual([rowOf(tea)])
})

test('a key that is refused for good is not sent again, and the next one is of the server’s time', async () => {
  const serverTimeMs = 2_000_000_000_000
  const refusal = { reason: 'KEY_FROM_FUTURE', attemptOutcome: 'NOT_EXECUTED', serverTimeMs }
  const { url, requests } = await startScriptedServer([failure(-32600, { idempotency: refusal }), success('done')])
  const { create } = createTRPCClient<ScriptedShop>({
    links: [untyped({ mutations: { create: true }, maxAttempts: 1 }), httpLink({ url })],
  })
  const intent = createIntent((input: unknown) => create.mutate(input))
  await caught(intent.run(tea))
  await intent.run(tea)
  const [refused, next] = keysIn(requests.map(({ body }) => body))
  expect(next).not.toBe(refused)
  expect(Math.round((birthOf(next ?? '') - serverTimeMs) / 60_000)).toBe(0)
})

test('of two mutations one may have been executed, whatever is known of the other: the intent is unresolved', async () => {
  const { client, bodies } = await start([])
  const intent = createIntent((input: typeof tea) =>
    Promise.all([client.create.mutate({ ...input, cents: 0 }), client.confirm.mutate(input)]),
  )
  expect(idempotencyErrorOf(await caught(intent.run(tea)))?.outcome).toBe('NOT_EXECUTED')
  expect(intent.status).toBe('unresolved')
  await expect.poll(db.orders).toEqual([rowOf(tea)])
  await caught(intent.run(tea))
  await expect.poll(() => bodies.length).toBe(4)
  expect(new Set(keysIn(bodies)).size).toBe(2)
  expect(await db.orders()).toEqual([rowOf(tea)])
})

test('a failure that says nothing of idempotency leaves it unresolved', async () => {
  const intent = createIntent(async (_input: string) => {
    throw new Error('before anything was sent, perhaps')
  })
  await caught(intent.run('tea'))
  expect(intent.status).toBe('unresolved')
})

test('what one owner left is not sent as another, nor answered to another', async () => {
  let user = 'alice'
  const { intent, bodies } = await start(['cutAfter', 'cutAfter'], { owner: () => user })
  const inFlight = intent.run(tea)
  user = 'bob'
  expect(await caught(intent.run(tea))).toBeInstanceOf(IntentUnresolvedError)
  await caught(inFlight)
  for (const attempt of [intent.run(tea), intent.retry()]) {
    expect(await caught(attempt)).toBeInstanceOf(IntentUnresolvedError)
  }
  expect(bodies).toHaveLength(1)
  intent.abandon()
  await caught(intent.run(tea))
  expect(new Set(keysIn(bodies)).size).toBe(2)
})

test('an owner that is forgotten sends nothing', async () => {
  const { intent, bodies } = await start([], { owner: () => '' })
  expect(await caught(intent.run(tea))).toBeInstanceOf(TypeError)
  expect([bodies, intent.status]).toEqual([[], 'idle'])
  expect(() => createIntent(async () => undefined, { owner: 'alice' as never })).toThrow('owner must be a function')
})

test('whoever listens is told of each change, until it ends that', async () => {
  const { intent } = await start(['cutAfter'])
  const seen: string[] = []
  const stop = intent.subscribe(() => seen.push(intent.status))
  await caught(intent.run(tea))
  await intent.retry()
  expect(seen).toEqual(['in flight', 'unresolved', 'in flight', 'idle'])
  stop()
  await intent.run(tea)
  expect(seen).toHaveLength(4)
})

test('as a mutationFn of TanStack Query: two mutate() of one form are one intent, over its retries', async () => {
  const { intent, bodies } = await start(['cutAfter'])
  const queryClient = new QueryClient({ defaultOptions: { mutations: { retry: 3, retryDelay: 1 } } })
  bindIdempotency(queryClient)
  const observer = new MutationObserver(queryClient, { mutationFn: intent.run })
  const answers = await Promise.all([observer.mutate({ ...tea }), observer.mutate({ ...tea })])
  expect(new Set(keysIn(bodies)).size).toBe(1)
  expect(answers[0]).toEqual(answers[1])
  expect(await db.orders()).toEqual([rowOf(tea)])
})
