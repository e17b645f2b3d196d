import { PrismaPg } from '@prisma/adapter-pg'
import { initTRPC } from '@trpc/server'
import { createIdempotency, type SharedOptions, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { z } from 'zod'
import { inQueues } from '../../examples/support/inQueues.js'
import { PrismaClient } from '../../generated/prisma/client.js'
import { alternately } from '../measure/alternately.js'
import { inWords, ratio } from '../measure/ratio.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Bench, Section } from '../section.js'

const CALLERS = 8

/**
 * What sealing costs: the same mutation sealed and in the open, in alternating rounds, without HTTP, which would only hide the
 * difference.
 */
export async function seal({ database, quick }: Bench): Promise<Section> {
  const plan = quick ? { rounds: 3, calls: 200 } : { rounds: 7, calls: 1500 }
  const prisma = new PrismaClient({
    adapter: new PrismaPg({ connectionString: await database('seal'), max: 10 }),
  })
  const callers = {
    open: callerWith(prisma, [{ from: 0, secret: null }]),
    sealed: callerWith(prisma, 'the bench seals with 32 bytes, too'),
  }
  const measured = await alternately(['open', 'sealed'], plan.rounds, async (lane) => {
    const keys = Array.from({ length: plan.calls }, () => v7())
    const perSecond = async () => {
      const start = performance.now()
      await inQueues(CALLERS, keys, async (key) => {
        await callers[lane].create(withIdempotencyKey({ item: 'tea' }, key))
      })
      return (1000 * plan.calls) / (performance.now() - start)
    }
    return { first: await perSecond(), replay: await perSecond() }
  })
  await prisma.$disconnect()
  const sealedToOpen = (kind: 'first' | 'replay') =>
    ratio(
      measured.sealed.map((round) => round[kind]),
      measured.open.map((round) => round[kind]),
    )
  const ratios = { first: sealedToOpen('first'), replay: sealedToOpen('replay') }
  return {
    title: 'Sealing',
    text: markdownTable(
      ['', 'sealed to open'],
      [
        ['first calls', inWords(ratios.first)],
        ['replays', inWords(ratios.replay)],
      ],
    ),
    figures: { plan, ratios },
  }
}

function callerWith(prisma: PrismaClient, secret: NonNullable<SharedOptions['seal']>) {
  const t = initTRPC.create()
  const idempotency = createIdempotency({ prisma, scope: () => 'bench', seal: secret })
  const router = t.router({
    create: idempotency
      .transaction(t.procedure)
      .input(z.object({ item: z.string() }))
      .mutation(({ ctx, input }) => ctx.tx.order.create({ data: { customer: 'bench', cents: 1, ...input } })),
  })
  return t.createCallerFactory(router)({})
}
