import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { createIdempotency, withIdempotency } from 'trpc-idempotency/server'
import { z } from 'zod'
import { PrismaClient } from '../../generated/prisma/client.js'
import { withPlainClaim } from './plainClaim.js'
import { POOL, SLOW_MS } from './terms.js'

// One of the servers: the same two mutations with our claims and with plain ones, on one pool.
const [, , connectionString = ''] = process.argv
const prisma = new PrismaClient({ adapter: withIdempotency(new PrismaPg({ connectionString, max: POOL })) })
const t = initTRPC.create()
const idempotent = createIdempotency({ prisma, scope: () => 'storm' }).transaction(t.procedure)
const Item = z.object({ item: z.string() })
const Keyed = Item.extend({ key: z.string() })

type Tx = Parameters<Parameters<typeof prisma.$transaction>[0]>[0]

const order = (tx: Tx, item: string) => tx.order.create({ data: { customer: 'storm', cents: 1, item } })
const slowOrder = async (tx: Tx, item: string) => {
  const created = await order(tx, item)
  await pause(SLOW_MS)
  return created
}
const router = t.router({
  ours: t.router({
    create: idempotent.input(Item).mutation(({ ctx, input }) => order(ctx.tx, input.item)),
    slow: idempotent.input(Item).mutation(({ ctx, input }) => slowOrder(ctx.tx, input.item)),
  }),
  // What duplicates cost as requests, whatever one does about them.
  timer: t.procedure.input(Item).mutation(async ({ input }) => {
    await pause(SLOW_MS)
    return input.item
  }),
  plain: t.router({
    create: t.procedure
      .input(Keyed)
      .mutation(({ input }) => withPlainClaim(prisma, input.key, (tx) => order(tx, input.item))),
    slow: t.procedure
      .input(Keyed)
      .mutation(({ input }) => withPlainClaim(prisma, input.key, (tx) => slowOrder(tx, input.item))),
  }),
})
const server = createHTTPServer({ router })
// Connections stay open between rounds: one that is closed as it is used would fail its call.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
process.on('disconnect', () => process.exit())
