import { createIdempotency } from 'trpc-idempotency/server'
import { clientFor, createOrder, OrderInput, type Row, t } from '../shop.js'

/** As docs/modes.md has it: what is rows goes into a recovery point, and commits with its record. */
export const row: Row = (given) => {
  const idempotency = createIdempotency({ prisma: clientFor(given), scope: () => 'alice' })
  return idempotency
    .lease(t.procedure)
    .input(OrderInput)
    .mutation(({ ctx, input }) => ctx.idempotency.recoveryPoint.tx('create', (tx) => createOrder(tx, input)))
}
