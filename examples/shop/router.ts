import { initTRPC, TRPCError } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { createIdempotency, type SharedOptions } from 'trpc-idempotency/server'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { type Listening, listen } from '../support/listen.js'

export interface Context {
  /** Stands in for a login. */
  customer: string
}

const OrderInput = z.object({ item: z.string(), cents: z.int().positive() })

/** A shop in which one can order in two ways. Both do the same work, and both look like what anyone would write. */
export function shopRouter(prisma: PrismaClient, options: SharedOptions = {}) {
  const t = initTRPC.context<Context>().create()
  const idempotency = createIdempotency({ prisma, scope: ({ ctx }: { ctx: Context }) => ctx.customer, ...options })

  return t.router({
    order: t.router({
      create: t.procedure
        .input(OrderInput)
        .mutation(({ ctx, input }) => prisma.order.create({ data: { customer: ctx.customer, ...input } })),
      createOnce: idempotency
        .transaction(t.procedure)
        .input(OrderInput)
        .mutation(({ ctx, input }) => ctx.tx.order.create({ data: { customer: ctx.customer, ...input } })),
    }),
  })
}

export type ShopRouter = ReturnType<typeof shopRouter>

/** Serves the shop on a free port. */
export async function startShop(prisma: PrismaClient): Promise<Listening> {
  const server = createHTTPServer({
    router: shopRouter(prisma),
    createContext({ req }): Context {
      const customer = req.headers['x-customer']
      if (typeof customer !== 'string') throw new TRPCError({ code: 'UNAUTHORIZED' })
      return { customer }
    },
  })
  return listen(server)
}
