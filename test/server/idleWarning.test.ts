import { setTimeout as pause } from 'node:timers/promises'
import { v7 } from 'uuid'
import { afterEach, expect, test, vi } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)

afterEach(() => {
  warned.mockClear()
  vi.unstubAllEnvs()
})

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0]

/** A server whose mutation does `work`, and is warned of after 100 ms. */
async function shop(work: (tx: Tx) => unknown) {
  const idempotency = shopIdempotency(db.prisma, { idleWarningMs: 100 })
  const router = t.router({
    create: idempotency.transaction(authed).mutation(({ ctx }) => work(ctx.tx)),
    other: idempotency.transaction(authed).mutation(({ ctx }) => work(ctx.tx)),
    leased: idempotency
      .lease(authed)
      .mutation(({ ctx }) => ctx.idempotency.recoveryPoint.tx('record', async (tx) => void (await work(tx)))),
    free: idempotency.lease(authed).mutation(() => pause(300)),
  })
  const url = await serve(router)
  return async (path = 'create') => {
    expect((await rawCall(url, { path, key: v7() })).status).toBe(200)
  }
}

const told = () => warned.mock.calls.map(([text]) => String(text))

test('a handler that waits outside with its transaction open is warned of, by name, once for each procedure', async () => {
  const call = await shop(() => pause(300))
  await Promise.all([call(), call()])
  await call()
  await call('other')
  expect(told()).toEqual([
    'create: its handler has kept a transaction open for 100 ms without a query. Does it wait for an outside call? Make that call before the mutation or in lease mode: a transaction holds its connection and its locks meanwhile, and a rollback does not undo the call. (A warning of development; option idleWarningMs.)',
    expect.stringMatching(/^other: its handler has kept a transaction open/),
  ])
})

test('the wait may stand after a query, and between two', async () => {
  const after = await shop(async (tx) => {
    await tx.order.count()
    await pause(300)
  })
  await after()
  expect(told()).toHaveLength(1)
  const between = await shop(async (tx) => {
    await Promise.all([tx.order.count(), tx.payment.count()])
    await pause(300)
    await tx.order.count()
  })
  await between()
  expect(told()).toHaveLength(2)
})

test('a handler that is slow because its queries are is not warned of', async () => {
  const call = await shop(async (tx) => {
    await Promise.all([tx.$queryRaw`select pg_sleep(0.3)::text`, tx.order.count()])
    await pause(10)
    await tx.$executeRaw`select pg_sleep(0.3)`
  })
  await call()
  expect(told()).toEqual([])
})

test('a handler that ended before its time is not warned of later', async () => {
  const call = await shop((tx) => tx.order.count())
  await call()
  await pause(300)
  expect(told()).toEqual([])
})

test('lease mode: the transaction of a recovery point is watched, and a handler is not', async () => {
  const call = await shop(() => pause(300))
  await call('free')
  expect(told()).toEqual([])
  await call('leased')
  expect(told()).toEqual([expect.stringMatching(/^leased: its handler has kept a transaction open/)])
})

test('in production nothing is watched', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  const call = await shop(() => pause(300))
  await call()
  expect(told()).toEqual([])
})
