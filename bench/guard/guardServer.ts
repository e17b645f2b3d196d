import { PrismaPg } from '@prisma/adapter-pg'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { createIdempotency, withIdempotency } from 'trpc-idempotency/server'
import { z } from 'zod'
import { listen } from '../../examples/support/listen.js'
import { PrismaClient } from '../../generated/prisma/client.js'

/** What is compared: the same order in a bare interactive transaction, and as an idempotent mutation in two ways. */
export const LANES = ['bare', 'ours', 'oursWithWrapper'] as const
export type Lane = (typeof LANES)[number]

export interface GuardServer {
  urlOf(lane: Lane): string
  stop(): Promise<void>
}

/** Serves the same mutation in all lanes, each with a pool of 10. */
export async function startGuardServer(connectionString: string): Promise<GuardServer> {
  const adapter = () => new PrismaPg({ connectionString, max: 10 })
  const prisma = new PrismaClient({ adapter: adapter() })
  const carrying = new PrismaClient({ adapter: withIdempotency(adapter(), { prepare: true }) })
  const t = initTRPC.create()
  const Item = z.object({ item: z.string() })
  type Tx = Parameters<Parameters<typeof prisma.$transaction>[0]>[0]
  const order = (tx: Tx, item: string) => tx.order.create({ data: { customer: 'guard', cents: 1, item } })
  const idempotent = (client: PrismaClient) =>
    createIdempotency({ prisma: client, scope: () => 'guard' })
      .transaction(t.procedure)
      .input(Item)
      .mutation(({ ctx, input }) => order(ctx.tx, input.item))
  const router = t.router({
    bare: t.procedure.input(Item).mutation(({ input }) => prisma.$transaction((tx) => order(tx, input.item))),
    ours: idempotent(prisma),
    oursWithWrapper: idempotent(carrying),
  })
  const { url, close } = await listen(createHTTPServer({ router }))
  return {
    urlOf: (lane) => `${url}/${lane}`,
    async stop() {
      close()
      await Promise.all([prisma.$disconnect(), carrying.$disconnect()])
    },
  }
}
