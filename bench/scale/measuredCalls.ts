import { PrismaPg } from '@prisma/adapter-pg'
import { initTRPC } from '@trpc/server'
import { v7 } from 'uuid'
import { z } from 'zod'
import { PrismaClient } from '../../generated/prisma/client.js'
import { createIdempotency, type Idempotency, withIdempotencyKey } from '../../server/index.js'

/** One application with its own database. No HTTP: it would only hide what a table costs. */
export interface Shop {
  idempotency: Pick<Idempotency<PrismaClient, object>, 'sweeper' | 'partitioner'>
  prisma: PrismaClient
  /** A mutation that was never sent before. */
  create(): Promise<unknown>
  /** One that was, again. */
  replay(key: string): Promise<unknown>
  /** The keys that `create` used. */
  keys: string[]
  close(): Promise<void>
}

export const CALLERS = 8

export async function openShop(url: string): Promise<Shop> {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: CALLERS + 4 }) })
  const t = initTRPC.create()
  const idempotency = createIdempotency({ prisma, scope: () => 'bench' })
  const router = t.router({
    create: idempotency
      .transaction(t.procedure)
      .input(z.object({ item: z.string() }))
      .mutation(({ ctx, input }) => ctx.tx.order.create({ data: { customer: 'bench', cents: 1, ...input } })),
  })
  const caller = t.createCallerFactory(router)({})
  const keys: string[] = []
  const call = (key: string) => caller.create(withIdempotencyKey({ item: 'tea' }, key))
  return {
    idempotency,
    prisma,
    keys,
    async create() {
      const key = v7()
      const answer = await call(key)
      keys.push(key)
      return answer
    },
    replay: call,
    close: () => prisma.$disconnect(),
  }
}

/** One call: when it was begun and how long it took, in ms. */
export interface Timed {
  begun: number
  ms: number
}

/** Calls from all callers at once, each as soon as its last one was answered, until told to stop. */
export function keepCalling(call: () => Promise<unknown>): { timed: Timed[]; stop(): Promise<void> } {
  const timed: Timed[] = []
  let stopped = false
  const queue = async () => {
    while (!stopped) {
      const begun = performance.now()
      await call()
      timed.push({ begun, ms: performance.now() - begun })
    }
  }
  const ended = Promise.all(Array.from({ length: CALLERS }, queue))
  return {
    timed,
    async stop() {
      stopped = true
      await ended
    },
  }
}

export async function callFor(ms: number, call: () => Promise<unknown>): Promise<Timed[]> {
  const { timed, stop } = keepCalling(call)
  await new Promise((resolve) => setTimeout(resolve, ms))
  await stop()
  return timed
}
