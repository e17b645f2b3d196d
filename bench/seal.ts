import { PrismaPg } from '@prisma/adapter-pg'
import { initTRPC } from '@trpc/server'
import { createIdempotency, type SharedOptions, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { z } from 'zod'
import { inQueues } from '../examples/support/inQueues.js'
import { startEmbeddedPostgres } from '../prisma/dev/embeddedPostgres.js'
import { prisma as prismaCli } from '../prisma/dev/prismaCli.js'

// What sealing costs: npm run bench:seal. The same mutation sealed and in the open, in alternating rounds of one run, without
// HTTP, which would only hide the difference.
const ROUNDS = 7
const CALLS = 1500
const CALLERS = 8

const postgres = await startEmbeddedPostgres({ fsync: 'on' })
try {
  const url = postgres.url('bench')
  await prismaCli(['migrate', 'deploy'], url)
  const { PrismaClient } = await import('../generated/prisma/client.js')
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 10 }) })

  const callerWith = (seal: NonNullable<SharedOptions['seal']>) => {
    const t = initTRPC.create()
    const idempotency = createIdempotency({ prisma, scope: () => 'bench', seal })
    const router = t.router({
      create: idempotency
        .transaction(t.procedure)
        .input(z.object({ item: z.string() }))
        .mutation(({ ctx, input }) => ctx.tx.order.create({ data: { customer: 'bench', cents: 1, ...input } })),
    })
    return t.createCallerFactory(router)({})
  }
  const lanes = [
    { name: 'open', caller: callerWith([{ from: 0, secret: null }]), first: [] as number[], replay: [] as number[] },
    { name: 'sealed', caller: callerWith('the bench seals with 32 bytes, too'), first: [], replay: [] },
  ]

  // The first round warms up and does not count.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { caller, first, replay } of round % 2 === 0 ? lanes : lanes.toReversed()) {
      const keys = Array.from({ length: CALLS }, () => v7())
      const call = async (key: string) => void (await caller.create(withIdempotencyKey({ item: 'tea' }, key)))
      for (const kind of [first, replay]) {
        const start = performance.now()
        await inQueues(CALLERS, keys, call)
        if (round > 0) kind.push((1000 * CALLS) / (performance.now() - start))
      }
    }
  }
  await prisma.$disconnect()

  const [open, sealed] = lanes as [(typeof lanes)[0], (typeof lanes)[0]]
  for (const kind of ['first', 'replay'] as const) {
    const ratios = sealed[kind]
      .map((perSecond, round) => perSecond / (open[kind][round] ?? Number.NaN))
      .sort((a, b) => a - b)
    const [least, middle, most] = [0, Math.floor(ratios.length / 2), ratios.length - 1].map((at) =>
      ratios[at]?.toFixed(2),
    )
    console.log(`${kind} calls, sealed to open: ${middle} (${least} to ${most} in ${ROUNDS} rounds)`)
  }
} finally {
  await postgres.stop()
}
