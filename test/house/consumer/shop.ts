import { initTRPC, TRPCError } from '@trpc/server'
import { addIdempotencyErrorData, createIdempotency } from 'trpc-idempotency/server'
import { z } from 'zod'
import type { PrismaClient } from '../../../generated/prisma/client.js'

interface Context {
  user: { id: string } | null
}

// tRPC before 11.22 has no `.errors()` for the library to hang the reason on: the router's own formatter adds it.
export const t = initTRPC.context<Context>().create({ errorFormatter: (opts) => addIdempotencyErrorData(opts) })

export const authed = t.procedure.use(({ ctx, next }) => {
  if (ctx.user === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { user: ctx.user } })
})

/** A router as an application of the package writes it; nothing in it depends on the version of tRPC. */
export function createShop(prisma: PrismaClient) {
  const idempotency = createIdempotency({ prisma, scope: ({ ctx }: { ctx: { user: { id: string } } }) => ctx.user.id })
  return t.router({
    order: t.router({
      create: idempotency
        .transaction(authed)
        .input(z.object({ item: z.string(), cents: z.number().int() }))
        .mutation(async ({ ctx, input }) => {
          const { id } = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
          return { id, key: ctx.idempotency.key }
        }),
      forget: authed.input(z.object({ id: z.number() })).mutation(({ input }) => input.id),
      list: authed.query(() => prisma.order.findMany({ orderBy: { id: 'asc' } })),
    }),
  })
}

export type AppRouter = ReturnType<typeof createShop>
