import type { IncomingHttpHeaders } from 'node:http'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import cors from 'cors'
import { createIdempotency, idempotencyResponseMeta } from 'trpc-idempotency/server'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { listen } from '../support/httpServer.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'

interface Context {
  headers: IncomingHttpHeaders
}

const t = initTRPC.context<Context>().create({ errorFormatter: endOfErrorFormatter })

function corsRouter(prisma: PrismaClient) {
  const idempotency = createIdempotency({
    prisma,
    scope: () => 'alice',
    headers: ({ ctx }: { ctx: Context }) => ctx.headers,
  })
  return t.router({
    create: idempotency
      .transaction(t.procedure)
      .input(z.object({ item: z.string(), cents: z.int() }))
      .mutation(async ({ ctx, input }) => {
        const { item } = await ctx.tx.order.create({ data: { customer: ctx.idempotency.key, ...input } })
        return item
      }),
  })
}
export type CorsRouter = ReturnType<typeof corsRouter>

/** An API on an origin of its own, which lets pages of `origin` in as `options` say. */
export async function serveAcrossOrigins(prisma: PrismaClient, options: cors.CorsOptions): Promise<string> {
  return listen(
    createHTTPServer({
      router: corsRouter(prisma),
      createContext: ({ req }) => ({ headers: req.headers }),
      responseMeta: idempotencyResponseMeta,
      middleware: cors(options),
    }),
  )
}
