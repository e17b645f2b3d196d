import { PrismaPg } from '@prisma/adapter-pg'
import { initTRPC } from '@trpc/server'
import { createIdempotency, type SharedOptions, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { z } from 'zod'
import { inQueues } from '../../examples/support/inQueues.js'
import { PrismaClient } from '../../generated/prisma/client.js'
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
  const open = {
    caller: callerWith(prisma, [{ from: 0, secret: null }]),
    first: [] as number[],
    replay: [] as number[],
  }
  const sealed = { caller: callerWith(prisma, 'the bench seals with 32 bytes, too'), first: [], replay: [] }
  const lanes: (typeof open)[] = [open, sealed]
  // The first round warms up and does not count.
  for (let round = 0; round <= plan.rounds; round += 1) {
    for (const { caller, first, replay } of round % 2 === 0 ? lanes : lanes.toReversed()) {
      const keys = Array.from({ length: plan.calls }, () => v7())
      const call = async (key: string) => void (await caller.create(withIdempotencyKey({ item: 'tea' }, key)))
      for (const kind of [first, replay]) {
        const start = performance.now()
        await inQueues(CALLERS, keys, call)
        if (round > 0) kind.push((1000 * plan.calls) / (performance.now() - start))
      }
    }
  }
  await prisma.$disconnect()
  const ratios = { first: ratio(sealed.first, open.first), replay: ratio(sealed.replay, open.replay) }
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
