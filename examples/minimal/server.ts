import { PrismaPg } from '@prisma/adapter-pg'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { createIdempotency } from 'trpc-idempotency/server'
import { z } from 'zod'
import { PrismaClient } from '../../generated/prisma/client.js'

interface Context {
  user: string
}
const t = initTRPC.context<Context>().create()
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env['DATABASE_URL'] }) })

// The scope says whose keys these are: a key of one user never meets a key of another.
const idempotency = createIdempotency({ prisma, scope: ({ ctx }: { ctx: Context }) => ctx.user })
const idempotentProcedure = idempotency.transaction(t.procedure)

const appRouter = t.router({
  order: t.router({
    create: idempotentProcedure
      .input(z.object({ item: z.string(), cents: z.int() }))
      .mutation(({ ctx, input }) => ctx.tx.order.create({ data: { customer: ctx.user, ...input } })),
    count: t.procedure.query(({ ctx }) => prisma.order.count({ where: { customer: ctx.user } })),
  }),
})

export type AppRouter = typeof appRouter
export const server = createHTTPServer({
  router: appRouter,
  createContext: ({ req }) => ({ user: req.headers.authorization ?? '' }),
})
