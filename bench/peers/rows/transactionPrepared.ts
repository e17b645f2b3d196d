import { createIdempotency, withIdempotency } from 'trpc-idempotency/server'
import { PrismaClient } from '../../../generated/prisma/client.js'
import { adapterFor, createOrder, OrderInput, type Row, t } from '../shop.js'

export const row: Row = (given) => {
  const prisma = new PrismaClient({ adapter: withIdempotency(adapterFor(given), { prepare: true }) })
  const idempotency = createIdempotency({ prisma, scope: () => 'alice' })
  return idempotency
    .transaction(t.procedure)
    .input(OrderInput)
    .mutation(({ ctx, input }) => createOrder(ctx.tx, input))
}
