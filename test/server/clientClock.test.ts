import { createTRPCClient, httpLink } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import { expect, onTestFinished, test, vi } from 'vitest'
import { carriedIn } from '../support/carriedIn.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const HOUR = 3_600_000

const router = () =>
  t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .input(OrderInput)
      .mutation(async ({ ctx, input }) => {
        await db.countRun(ctx.idempotency.key)
        await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
        return 'done'
      }),
  })

test.each([
  ['a year behind', -365 * 24 * HOUR],
  ['a day ahead', 24 * HOUR],
])('a client whose clock is %s executes its mutation once, and the next one without a detour', async (_, off) => {
  const keys: string[] = []
  const url = await serve(router())
  const client = createTRPCClient<ReturnType<typeof router>>({
    links: [
      idempotencyLink<ReturnType<typeof router>>({ mutations: { create: true } }),
      httpLink({
        url,
        headers: { 'x-user': 'alice' },
        fetch(address, init) {
          keys.push(carriedIn({ body: String(init?.body) }).key)
          return fetch(address, init as RequestInit)
        },
      }),
    ],
  })
  // Only what reads the calendar: the server's side reads none.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + off })
  onTestFinished(() => void vi.useRealTimers())
  const order = { item: 'tea', cents: 350 }
  expect(await client.create.mutate(order)).toBe('done')
  expect(keys).toHaveLength(2)
  expect(await client.create.mutate(order)).toBe('done')
  expect(keys).toHaveLength(3)
  expect(await Promise.all(keys.map((key) => db.runs(key)))).toEqual([0, 1, 1])
})
