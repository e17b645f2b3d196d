import process from 'node:process'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import pg from 'pg'
import { createIdempotency } from 'trpc-idempotency/server'
import { PrismaClient } from '../../../generated/prisma/client.js'
import { adapterOf } from '../adapterOf.js'
import { passBarrier } from '../barrier.js'
import { contextOf } from '../httpServerContext.js'
import type { OrderProcessOptions } from '../orderProcess.js'
import { survivePrismasTimer } from '../prismaVersion.js'
import { type Authed, authed, OrderInput, t } from '../shop.js'

// A server process of its own: one idempotent mutation, and barriers where a test wants to hold it.
survivePrismasTimer()
const url = process.argv[2] ?? ''
const options = JSON.parse(process.argv[3] ?? '{}') as OrderProcessOptions
const prisma = new PrismaClient({ adapter: adapterOf({ connectionString: url, max: 20 }) })
const runs = new pg.Pool({ connectionString: url, max: 2 })
runs.on('error', () => undefined) // an idle connection that a test cuts

const idempotency = createIdempotency({
  ...options.idempotency,
  prisma,
  async scope({ ctx }: { ctx: Authed }) {
    if (options.barrierBeforeClaim !== undefined) await passBarrier(options.barrierBeforeClaim)
    return ctx.user.id
  },
})
const router = t.router({
  create: idempotency
    .transaction(authed)
    .input(OrderInput)
    .mutation(async ({ ctx, input }) => {
      await runs.query('insert into test_runs (label) values ($1)', [ctx.user.id])
      const order = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
      if (options.barrierInHandler !== undefined) await passBarrier(options.barrierInHandler)
      return order
    }),
})
const server = createHTTPServer({ router, createContext: ({ req }) => contextOf(req) })
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
// The test's end is ours: no server outlives whoever started it.
process.on('disconnect', () => process.exit())
