import { v7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import { adapterOf } from '../support/adapterOf.js'
import { createBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { startOrderProcess } from '../support/orderProcess.js'
import { boundedWait, disconnect } from '../support/prismaVersion.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const input = { item: 'tea', cents: 350 }

/** A client with a pool of this many connections, and a server on it. */
async function shopWithPool(max: number, options = {}) {
  const prisma = new PrismaClient({ adapter: adapterOf({ connectionString: db.url, max }) })
  onTestFinished(() => disconnect(prisma))
  const idempotent = shopIdempotency(prisma, options).transaction(authed)
  const router = t.router({
    create: idempotent
      .input(OrderInput)
      .mutation(({ ctx, input: order }) => ctx.tx.order.create({ data: { customer: ctx.user.id, ...order } })),
    past: idempotent.mutation(async () => prisma.order.count()),
  })
  return serve(router)
}

test('30 duplicates that wait for another process leave the pool of 5 to other mutations', async () => {
  const inside = await createBarrier(1)
  const holder = await startOrderProcess(db.url, { barrierInHandler: inside.url })
  const url = await shopWithPool(5)
  const call = { path: 'create', key: v7(), input, user: 'held' }
  const first = rawCall(holder.url, call)
  await inside.allArrived

  let answered = 0
  const duplicates = Array.from({ length: 30 }, async () => {
    const answer = await rawCall(url, { ...call, attempt: 2 })
    answered += 1
    return answer
  })
  // Other mutations, one after the other and five at a time, while all the duplicates wait.
  for (let round = 0; round < 10; round += 1) {
    const others = Array.from({ length: 5 }, () => rawCall(url, { path: 'create', key: v7(), input, user: 'others' }))
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  }
  expect(answered).toBe(0)
  inside.open()
  const texts = new Set([await first, ...(await Promise.all(duplicates))].map(({ text }) => text))
  expect(texts.size).toBe(1)
  expect(await db.runs('held')).toBe(1)
})

test('repeats of 5 slow operations, over two processes, leave a pool of 4 to other mutations', async () => {
  const inside = await createBarrier(5)
  const options = { timeoutMs: 60_000, waitMs: 60_000, claimWaitMs: 50_000 }
  const holder = await startOrderProcess(db.url, { barrierInHandler: inside.url, idempotency: options })
  const url = await shopWithPool(4, options)
  const calls = Array.from({ length: 5 }, (_, index) => ({ path: 'create', key: v7(), input, user: `slow ${index}` }))
  const firsts = calls.map((call) => rawCall(holder.url, call))
  await inside.allArrived

  const repeats = calls.map((call) =>
    [url, url, url, holder.url, holder.url].map((to) => rawCall(to, { ...call, attempt: 2 })),
  )
  for (let round = 0; round < 20; round += 1) {
    const others = Array.from({ length: 4 }, () => rawCall(url, { path: 'create', key: v7(), input, user: 'beside' }))
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  }
  inside.open()
  for (const [index, first] of firsts.entries()) {
    const texts = (await Promise.all([first, ...(repeats[index] ?? [])])).map(({ text }) => text)
    expect(new Set(texts).size).toBe(1)
    expect(await db.runs(`slow ${index}`)).toBe(1)
  }
})

test('a handler that queries its imported client with a pool of one: a clear error, and the server goes on', async () => {
  const url = await shopWithPool(1, { timeoutMs: 500, claimWaitMs: 100 })
  const answer = await rawCall(url, { path: 'past', key: v7() })
  expect(answer.status).toBe(503)
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).toContain('queries another client than ctx.tx')
  expect((await rawCall(url, { path: 'create', key: v7(), input })).status).toBe(200)
})

test('a pool that has no connection to give in maxWaitMs: nothing was executed', async () => {
  const pool = { connectionString: db.url, max: 1, ...boundedWait(100) }
  const prisma = new PrismaClient({ adapter: adapterOf(pool) })
  onTestFinished(() => disconnect(prisma))
  const router = t.router({
    create: shopIdempotency(prisma, { maxWaitMs: 100 })
      .transaction(authed)
      .mutation(() => db.countRun('no connection')),
  })
  const url = await serve(router)
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let started: () => void = () => undefined
  const hasStarted = new Promise<void>((resolve) => {
    started = resolve
  })
  const holding = prisma.$transaction(async () => {
    started()
    await held
  })
  await hasStarted
  const answer = await rawCall(url, { path: 'create', key: v7() })
  release()
  await holding
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  expect(await db.runs('no connection')).toBe(0)
})
