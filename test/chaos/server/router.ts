import { initTRPC } from '@trpc/server'
import type { SharedOptions } from 'trpc-idempotency/server'
import { z } from 'zod'
import { paymentsRouter } from '../../../examples/payments/router.js'
import { type Context, shopRouter } from '../../../examples/shop/router.js'
import type { PrismaClient } from '../../../generated/prisma/client.js'

/** Short, because here everything happens soon: who is stopped for two seconds has lost his transaction and his lease. */
const IMPATIENCE: SharedOptions = { timeoutMs: 1000, maxWaitMs: 500, waitMs: 1500, claimWaitMs: 100 }

/** The mutations of the examples, as they are, and other traffic on the same pool. */
export function chaosRouter(prisma: PrismaClient, providerUrl: string) {
  const t = initTRPC.context<Context>().create()
  return t.mergeRouters(
    shopRouter(prisma, IMPATIENCE),
    paymentsRouter(prisma, providerUrl, IMPATIENCE),
    t.router({
      /** Holds connections of the pool, and does nothing with them. */
      traffic: t.procedure
        .input(z.object({ connections: z.int(), ms: z.number() }))
        .mutation(async ({ input: { connections, ms } }) => {
          const hold = () => prisma.$queryRaw`select pg_sleep(${ms / 1000}::float8)::text`
          await Promise.all(Array.from({ length: connections }, hold))
        }),
    }),
  )
}

export type ChaosRouter = ReturnType<typeof chaosRouter>
