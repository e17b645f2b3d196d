import superjson from 'superjson'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

/** A row as lease mode leaves it. */
async function plant(key: string, status: string, { fingerprint = '\\x01', lease = 'null', fence = 1 } = {}) {
  await db.query(
    `insert into idempotency_keys
      (key, scope, procedure, fingerprint, status, fence, on_unknown, attempts, claimed_at, lease_expires_at)
    values ($1, 'alice', 'create', $2, $3, $4, 'retry', 1, now(), ${lease})`,
    [key, fingerprint, status, fence],
  )
}

test('status tells absent, in flight, released and settled apart, and gives the result', async () => {
  const idempotency = shopIdempotency(db.prisma)
  const [absent, inFlight, released, settled] = [v7(), v7(), v7(), v7()]
  await plant(inFlight, 'in_flight', { lease: `now() + interval '1 minute'` })
  await plant(released, 'released')
  const url = await serve(t.router({ create: idempotency.transaction(authed).mutation(() => ({ id: 7 })) }))
  await rawCall(url, { path: 'create', key: settled })

  const status = (key: string) => idempotency.status({ scope: 'alice', key })
  expect(await status(absent)).toEqual({ status: 'absent' })
  expect(await status(inFlight)).toEqual({ status: 'in flight' })
  expect(await status(released)).toEqual({ status: 'released' })
  expect(await status(settled)).toEqual({ status: 'settled', as: 'value', result: { id: 7 } })
  expect(await idempotency.status({ scope: 'bob', key: settled })).toEqual({ status: 'absent' })
})

test('status gives the value that the serializer carries', async () => {
  const idempotency = shopIdempotency(db.prisma, { serializer: superjson })
  const key = v7()
  await plant(key, 'released')
  await db.query(
    `update idempotency_keys set status = 'settled', result_kind = 'value', settled_at = now(), result = $2 where key = $1`,
    [key, '{"json":"1970-01-01T00:00:00.000Z","meta":{"values":["Date"]}}'],
  )
  expect(await idempotency.status({ scope: 'alice', key })).toEqual({
    status: 'settled',
    as: 'value',
    result: new Date(0),
  })
})

test('status refuses what is no key and no scope', async () => {
  const idempotency = shopIdempotency(db.prisma)
  await expect(idempotency.status({ scope: 'alice', key: 'undefined' })).rejects.toMatchObject({
    reason: 'KEY_INVALID',
  })
  await expect(idempotency.status({ scope: '', key: v7() })).rejects.toMatchObject({ reason: 'SCOPE_MISSING' })
})

// What transaction mode meets when a procedure was in lease mode before a deploy.

async function shopAndFingerprint(options = {}) {
  const idempotency = shopIdempotency(db.prisma, options)
  const router = t.router({
    create: idempotency.transaction(authed).mutation(async ({ ctx }) => {
      await db.countRun(ctx.idempotency.key)
      return 'done'
    }),
  })
  const url = await serve(router)
  const other = v7()
  await rawCall(url, { path: 'create', key: other })
  const fingerprint = (await db.keys()).find(({ key }) => key === other)?.fingerprint.toString('hex')
  return {
    fingerprint: `\\x${fingerprint}`,
    call: (key: string, attempt = 1) => rawCall(url, { path: 'create', key, attempt }),
  }
}

test('a lease that lives is in flight for as long as it lives, and is never taken over', async () => {
  const { fingerprint, call } = await shopAndFingerprint()
  const key = v7()
  await plant(key, 'in_flight', { fingerprint, lease: `now() + interval '1 minute'` })
  for (const attempt of [1, 2]) {
    const answer = await call(key, attempt)
    const { retryAfterMs, ...rest } = said(answer) as { retryAfterMs: number }
    expect(rest).toEqual({ reason: 'IN_FLIGHT', attemptOutcome: 'NOT_EXECUTED' })
    expect(retryAfterMs).toBeGreaterThan(50_000)
    expect(retryAfterMs).toBeLessThanOrEqual(60_000)
  }
  expect(await db.runs(key)).toBe(0)
})

test('a lease that is over is abandoned, and is never taken over', async () => {
  const { fingerprint, call } = await shopAndFingerprint()
  const key = v7()
  await plant(key, 'in_flight', { fingerprint, lease: `now() - interval '1 second'` })
  for (const attempt of [1, 2]) {
    expect(said(await call(key, attempt))).toEqual({ reason: 'ABANDONED', attemptOutcome: 'UNKNOWN' })
  }
  expect(await db.runs(key)).toBe(0)
})

test('a released row without recovery points is claimed, under a fence of its own', async () => {
  const { fingerprint, call } = await shopAndFingerprint()
  for (const attempt of [1, 2]) {
    const key = v7()
    await plant(key, 'released', { fingerprint, fence: 5 })
    expect((await call(key, attempt)).data).toBe('done')
    expect((await call(key, 3)).data).toBe('done')
    expect(await db.runs(key)).toBe(1)
    const row = (await db.keys()).find((found) => found.key === key)
    expect(row).toMatchObject({ status: 'settled', fence: 6, attempts: 2, result: '"done"', on_unknown: null })
  }
})

test('the lock timeout of the application holds again in a handler that claimed a released row', async () => {
  const seen: unknown[] = []
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .mutation(async ({ ctx }) => seen.push(await ctx.tx.$queryRaw`show lock_timeout`)),
  })
  const { fingerprint } = await shopAndFingerprint()
  const url = await serve(router)
  const key = v7()
  await plant(key, 'released', { fingerprint })
  expect((await rawCall(url, { path: 'create', key })).status).toBe(200)
  expect(seen).toEqual([[{ lock_timeout: '0' }]])
})

test('a released row that somebody else holds is waited for, no longer than waitMs', async () => {
  const { fingerprint, call } = await shopAndFingerprint({ waitMs: 300, claimWaitMs: 100 })
  const key = v7()
  await plant(key, 'released', { fingerprint })
  const holder = await db.connect()
  await holder.query(`begin; update idempotency_keys set attempts = 9 where key = '${key}'`)
  expect(said(await call(key))).toMatchObject({ reason: 'IN_FLIGHT' })
  await holder.query('rollback')
  holder.release()
  expect((await call(key, 2)).data).toBe('done')
})

test('a released row is claimed below the watermark too: it was not swept', async () => {
  const { fingerprint, call } = await shopAndFingerprint()
  const key = v7()
  await plant(key, 'released', { fingerprint })
  await db.query(`update idempotency_watermark set key = 'ffffffff-ffff-7000-8000-000000000000'`)
  expect((await call(key)).data).toBe('done')
  await db.query(`update idempotency_watermark set key = '00000000-0000-7000-8000-000000000000'`)
})

test('a released row with recovery points is abandoned: a transaction cannot repeat what they name', async () => {
  const { fingerprint, call } = await shopAndFingerprint()
  const key = v7()
  await plant(key, 'released', { fingerprint })
  await db.query(`insert into idempotency_recovery_points values ($1, 'alice', 'charge', null, 1, now())`, [key])
  for (const attempt of [1, 2]) {
    expect(said(await call(key, attempt))).toEqual({ reason: 'ABANDONED', attemptOutcome: 'UNKNOWN' })
  }
  expect(await db.runs(key)).toBe(0)
})

test('a released row of another input is reuse, and says nothing else', async () => {
  const { call } = await shopAndFingerprint()
  const key = v7()
  await plant(key, 'released')
  expect(said(await call(key))).toEqual({ reason: 'KEY_REUSED', attemptOutcome: 'NOT_EXECUTED' })
})
