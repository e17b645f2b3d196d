import { createTRPCClient, httpBatchLink, httpLink } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { serve } from '../support/httpServer.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

function shop() {
  return t.router({
    order: t.router({
      create: shopIdempotency(db.prisma)
        .transaction(authed)
        .input(OrderInput)
        .mutation(async ({ ctx, input }) => {
          await db.countRun(input.item)
          const { id } = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
          return { id, item: input.item }
        }),
    }),
  })
}

const endingLinks = { httpLink, httpBatchLink }

function clientOf(url: string, endingLink: keyof typeof endingLinks) {
  return createTRPCClient<ReturnType<typeof shop>>({
    links: [
      idempotencyLink<ReturnType<typeof shop>>({
        mutations: { 'order.create': true },
        maxAttempts: 4,
        // Real time, but little of it: only the fault `hang` waits for this.
        attemptTimeoutMs: 1000,
        baseDelayMs: 5,
      }),
      endingLinks[endingLink]({ url, headers: { 'x-user': 'alice' } }),
    ],
  })
}

const faults: Fault[] = [
  'cutBefore',
  'cutAfter',
  'resetAfter',
  'cutBody',
  'halfBody',
  '502 HTML',
  '502 JSON',
  '503 error code',
  '200 HTML',
  'empty 504',
  'half a batch',
  'hang',
  'deliver twice',
]

const cases = faults.flatMap((fault) =>
  (Object.keys(endingLinks) as (keyof typeof endingLinks)[]).map((link) => [fault, link] as const),
)

test.each(cases)('%s over %s: the retry keeps the key, one order, one answer', async (fault, link) => {
  const item = `${fault} ${link}`
  const proxy = await startFaultProxy(await serve(shop()), [fault])
  const answer = await clientOf(proxy.url, link).order.create.mutate({ item, cents: 350 })
  expect(answer).toEqual({ id: expect.any(Number), item })
  expect(await db.runs(item)).toBe(1)
  expect((await db.orders()).filter((order) => order.item === item)).toHaveLength(1)
  // Half a batch is all of it where the batch has one call: then the first answer was whole.
  const attempts = fault === 'half a batch' && link === 'httpBatchLink' ? 1 : 2
  expect(proxy.bodies).toHaveLength(attempts)
  expect(new Set(keysIn(proxy.bodies)).size).toBe(1)
})

test('half a batch: the call whose answer is missing is retried alone, with its key', async () => {
  const proxy = await startFaultProxy(await serve(shop()), ['half a batch'])
  const client = clientOf(proxy.url, 'httpBatchLink')
  const items = ['first of two', 'second of two']
  const answers = await Promise.all(items.map((item) => client.order.create.mutate({ item, cents: 1 })))
  expect(answers.map(({ item }) => item)).toEqual(items)
  expect(proxy.bodies).toHaveLength(2)
  const [first, second] = proxy.bodies.map((body) => keysIn([body]))
  expect(first).toHaveLength(2)
  expect(second).toEqual([first?.[1]])
  for (const item of items) expect(await db.runs(item)).toBe(1)
})

test('a request that the transport delivers twice is seen twice by the server, and executed once', async () => {
  const proxy = await startFaultProxy(await serve(shop()), ['deliver twice', 'deliver twice'])
  await clientOf(proxy.url, 'httpLink').order.create.mutate({ item: 'delivered twice', cents: 1 })
  expect(proxy.delivered()).toBe(5)
  expect(await db.runs('delivered twice')).toBe(1)
})

test('two calls in one batch have two keys, and so has a call that follows another', async () => {
  const proxy = await startFaultProxy(await serve(shop()), [])
  const client = clientOf(proxy.url, 'httpBatchLink')
  const create = (item: string) => client.order.create.mutate({ item, cents: 1 })
  await Promise.all([create('one'), create('two')])
  await create('three').then(() => create('four'))
  expect(proxy.bodies).toHaveLength(3)
  expect(new Set(keysIn(proxy.bodies)).size).toBe(4)
})

/** The keys in request bodies, read by their form alone. */
function keysIn(bodies: string[]): string[] {
  return bodies.flatMap((body) => [...body.matchAll(/"key":"([0-9a-f-]{36})"/g)].map(([, key]) => key ?? ''))
}
