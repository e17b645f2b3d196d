import { TRPCError } from '@trpc/server'
import { NotedOrder, type Procedures, userOf } from './shop.js'

/** The part of the router that is loaded by the first call. */
export function stockRouter(procedures: Procedures) {
  return procedures.t.router({ reserve: reserve(procedures) })
}

/** Writes, and has its first run fail after that. */
export function reserve({ transaction, countRun }: Procedures) {
  return transaction
    .meta({ path: 'shop.stock.reserve' })
    .input(NotedOrder)
    .mutation(async ({ ctx, input: { item, cents } }) => {
      const run = await countRun(ctx.idempotency)
      await ctx.tx.order.create({ data: { customer: userOf(ctx), item: `${item}, reserved`, cents } })
      if (run === 1) throw new TRPCError({ code: 'CONFLICT', message: 'sold out' })
      return { item, run }
    })
}
