import { createIdempotency } from 'trpc-idempotency/server'
import { clientFor, createOrder, OrderInput, type Row, t } from '../shop.js'

/** The handler writes by itself, as if the order lay in an outside service. */
export const row: Row = (given) => {
  const prisma = clientFor(given)
  const idempotency = createIdempotency({ prisma, scope: () => 'alice' })
  return idempotency
    .lease(t.procedure)
    .input(OrderInput)
    .mutation(({ input }) => createOrder(prisma, input))
}
