import { createIdempotency } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { createBarrier, passBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { startOrderProcess } from '../support/orderProcess.js'
import { rawCall } from '../support/rawCall.js'
import { type Authed, authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase({ poolSize: 60 })

/** A server whose attempts all meet at the barrier before any of them claims. */
function shop(label: string, barrierUrl: string) {
  const idempotency = createIdempotency({
    prisma: db.prisma,
    async scope({ ctx }: { ctx: Authed }) {
      await passBarrier(barrierUrl)
      return ctx.user.id
    },
  })
  return t.router({
    create: idempotency
      .transaction(authed)
      .input(OrderInput)
      .mutation(async ({ ctx, input }) => {
        await db.countRun(label)
        return ctx.tx.order.create({ data: { customer: label, ...input } })
      }),
  })
}

async function expectOneOrder(label: string, texts: string[]) {
  expect(new Set(texts).size).toBe(1)
  expect(texts[0]).toContain(`"customer":"${label}"`)
  expect((await db.orders()).filter(({ customer }) => customer === label)).toEqual([
    { customer: label, item: 'tea', cents: 350 },
  ])
}

test.each([2, 50])(
  'of %i attempts at once in one process, one runs and the others replay its answer',
  async (count) => {
    const label = `${count} in one process`
    const barrier = await createBarrier(count)
    const url = await serve(shop(label, barrier.url))
    const call = { path: 'create', key: v7(), input: { item: 'tea', cents: 350 } }

    const answers = Array.from({ length: count }, () => rawCall(url, call))
    await barrier.allArrived
    barrier.open()
    await expectOneOrder(
      label,
      (await Promise.all(answers)).map(({ text }) => text),
    )
    expect(await db.runs(label)).toBe(1)
  },
)

test.each([2, 50])('of %i attempts at once that share no memory, the claim decides which one runs', async (count) => {
  const label = `${count} without single flight`
  const barrier = await createBarrier(count)
  // Each attempt by an instance of its own: none of them knows of the others but through the table.
  const urls = await Promise.all(Array.from({ length: count }, () => serve(shop(label, barrier.url))))
  const call = { path: 'create', key: v7(), input: { item: 'tea', cents: 350 } }

  const answers = urls.map((url) => rawCall(url, call))
  await barrier.allArrived
  barrier.open()
  await expectOneOrder(
    label,
    (await Promise.all(answers)).map(({ text }) => text),
  )
  expect(await db.runs(label)).toBe(1)
})

test.each([2, 50])(
  'of %i attempts at once over four processes, one runs and the others replay its answer',
  async (count) => {
    const label = `${count} over four processes`
    const barrier = await createBarrier(count)
    const processes = await Promise.all(
      Array.from({ length: 4 }, () => startOrderProcess(db.url, { barrierBeforeClaim: barrier.url })),
    )
    const call = { path: 'create', key: v7(), input: { item: 'tea', cents: 350 }, user: label }

    const answers = Array.from({ length: count }, (_, index) => rawCall(processes[index % 4]?.url ?? '', call))
    await barrier.allArrived
    barrier.open()
    await expectOneOrder(
      label,
      (await Promise.all(answers)).map(({ text }) => text),
    )
    expect(await db.runs(label)).toBe(1)
  },
)

test('when the attempt that runs fails, exactly one of those who waited runs next', async () => {
  const label = 'leader fails'
  const count = 10
  const arrived = await createBarrier(count)
  let runs = 0
  const idempotency = createIdempotency({
    prisma: db.prisma,
    async scope({ ctx }: { ctx: Authed }) {
      await passBarrier(arrived.url)
      return ctx.user.id
    },
  })
  const router = t.router({
    create: idempotency
      .transaction(authed)
      .input(OrderInput)
      .mutation(async ({ ctx, input }) => {
        runs += 1
        const run = runs
        await ctx.tx.order.create({ data: { customer: label, ...input } })
        if (run === 1) throw new Error('the first one fails')
        return { run }
      }),
  })
  const url = await serve(router)
  const call = { path: 'create', key: v7(), input: { item: 'tea', cents: 350 } }

  const answers = Array.from({ length: count }, () => rawCall(url, call))
  await arrived.allArrived
  arrived.open()
  const all = await Promise.all(answers)
  expect(all.filter(({ status }) => status === 500)).toHaveLength(1)
  expect(all.filter(({ status }) => status === 200).map(({ data }) => data)).toEqual(
    Array.from({ length: count - 1 }, () => ({ run: 2 })),
  )
  expect((await db.orders()).filter(({ customer }) => customer === label)).toHaveLength(1)
})

test('a duplicate that waits longer than waitMs is told IN_FLIGHT, and the answer is there later', async () => {
  const label = 'waits'
  const inside = await createBarrier(1)
  const router = () =>
    t.router({
      create: shopIdempotency(db.prisma, { waitMs: 300, claimWaitMs: 100 })
        .transaction(authed)
        .input(OrderInput)
        .mutation(async ({ ctx, input }) => {
          await ctx.tx.order.create({ data: { customer: label, ...input } })
          await passBarrier(inside.url)
          return 'done'
        }),
    })
  const [first, sameProcess, other] = await Promise.all([serve(router()), undefined, serve(router())])
  const call = { path: 'create', key: v7(), input: { item: 'tea', cents: 350 } }

  const running = rawCall(first, call)
  await inside.allArrived
  for (const url of [sameProcess ?? first, other]) {
    const waited = await rawCall(url, { ...call, attempt: 2 })
    expect(waited.status).toBe(409)
    expect(waited.error?.data['idempotency']).toEqual({
      reason: 'IN_FLIGHT',
      attemptOutcome: 'NOT_EXECUTED',
      retryAfterMs: 1000,
    })
  }
  inside.open()
  expect((await running).data).toBe('done')
  expect((await rawCall(other, { ...call, attempt: 3 })).data).toBe('done')
  expect((await db.orders()).filter(({ customer }) => customer === label)).toHaveLength(1)
})
