import { createIdempotency } from 'trpc-idempotency/server'
import { clientFor, createOrder, OrderInput, type Row, t } from '../shop.js'

export const row: Row = (given) => {
  const idempotency = createIdempotency({ prisma: clientFor(given), scope: () => 'alice' })
  return idempotency
    .transaction(t.procedure)
    .input(OrderInput)
    .mutation(({ ctx, input }) => createOrder(ctx.tx, input))
}
