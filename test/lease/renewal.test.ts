import { v7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import { adapterOf } from '../support/adapterOf.js'
import { createBarrier, passBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { nameOf, startDatabaseProxy } from '../support/databaseProxy.js'
import { serve } from '../support/httpServer.js'
import { disconnect } from '../support/prismaVersion.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

test('a holder none of whose renewals comes through for the length of a lease is told that it has to fear its loss', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const prisma = new PrismaClient({ adapter: adapterOf({ connectionString: proxy.url, max: 3 }) })
  onTestFinished(() => disconnect(prisma))
  const inside = await createBarrier(1)
  const told: unknown[] = []
  let run = 0
  const router = t.router({
    pay: shopIdempotency(prisma)
      .lease(authed, { leaseMs: 600 })
      .mutation(async ({ ctx }) => {
        run += 1
        if (run > 1) return 'paid by another'
        const { signal } = ctx.idempotency
        signal.addEventListener('abort', () => told.push((signal.reason as { reason: string }).reason))
        await passBarrier(inside.url)
        return 'too late'
      }),
  })
  const url = await serve(router)
  const call = { path: 'pay', key: v7() }
  // The database is away for renewals, and for nothing else.
  proxy.hook = (flight) => (nameOf(flight).includes('set lease_expires_at = clock_timestamp() +') ? 'cut' : 'pass')
  const running = rawCall(url, call)
  await inside.allArrived
  expect(said(await running)).toEqual({ reason: 'LEASE_LOST', attemptOutcome: 'UNKNOWN' })
  expect(told).toEqual(['LEASE_LOST'])

  proxy.hook = () => 'pass'
  const next = await rawCall(url, { ...call, attempt: 2 })
  expect(next.data).toBe('paid by another')
  inside.open()
  const [row] = await db.keys()
  expect(row).toMatchObject({ status: 'settled', fence: 2, result: '"paid by another"' })
})
