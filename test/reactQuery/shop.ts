import type { TestDatabase } from '../support/database/testDatabase.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

/** A shop with two idempotent mutations, each of which writes one row. */
export function createShop({ prisma }: Pick<TestDatabase, 'prisma'>) {
  const idempotent = shopIdempotency(prisma).transaction(authed).input(OrderInput)
  return t.router({
    order: t.router({
      create: idempotent.mutation(async ({ ctx, input }) => {
        const { id } = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
        return { id, item: input.item }
      }),
      cancel: idempotent.mutation(async ({ ctx, input }) => {
        const { id } = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input, cents: -input.cents } })
        return { id, item: input.item }
      }),
    }),
  })
}

export type Shop = ReturnType<typeof createShop>
