import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

test('a first call executes, and its repeat replays', async () => {
  const idempotency = shopIdempotency(db.prisma)
  const router = t.router({
    order: t.router({
      create: idempotency
        .transaction(authed)
        .input(OrderInput)
        .mutation(async ({ ctx, input }) => {
          await db.countRun('a')
          const o = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
          return { id: o.id, at: o.createdAt }
        }),
    }),
  })
  const url = await serve(router)
  const client = createTRPCClient<typeof router>({
    links: [
      idempotencyLink<typeof router>({ mutations: { 'order.create': true } }),
      httpBatchLink({ url, headers: { 'x-user': 'alice' } }),
    ],
  })
  const key = v7()
  const a = await client.order.create.mutate({ item: 'tea', cents: 5 }, { context: { idempotencyKey: key } })
  const b = await client.order.create.mutate({ item: 'tea', cents: 5 }, { context: { idempotencyKey: key } })
  expect(b).toEqual(a)
  expect(await db.runs('a')).toBe(1)
  console.log(await db.keys())
  const e = await client.order.create
    .mutate({ item: 'tea', cents: 6 }, { context: { idempotencyKey: key } })
    .catch((e) => e)
  console.log(e.shape, e.meta.idempotency)
})
