import { TRPCError } from '@trpc/server'
import { sweepOnce } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'

const db = useDatabase()
const storesErrors = test.skipIf(!proceduresHaveErrors)

const ERASED = { reason: 'RESULT_ERASED', attemptOutcome: 'EXECUTED' }
const OUTCOME_ERASED = { reason: 'RESULT_ERASED', attemptOutcome: 'UNKNOWN' }

beforeEach(() => db.query('truncate idempotency_keys, idempotency_recovery_points, test_runs'))

/** A shop in both modes, whose handlers answer with their input, or fail as it says. */
async function shop() {
  const idempotency = shopIdempotency(db.prisma)
  const router = t.router({
    order: idempotency
      .transaction(authed, proceduresHaveErrors ? { storeError: ({ code }) => code === 'CONFLICT' } : {})
      .input(z.any())
      .mutation(async ({ ctx, input }) => {
        await db.countRun(ctx.idempotency.key)
        if (input === 'sold out') throw new TRPCError({ code: 'CONFLICT', message: 'sold out for Alice' })
        return input as unknown
      }),
    pay: idempotency
      .lease(authed)
      .input(z.any())
      .mutation(async ({ ctx, input }) => {
        await db.countRun(ctx.idempotency.key)
        await ctx.idempotency.recoveryPoint('charge', () => ({ card: '4242' }))
        if (input === 'fails') throw new Error('after the charge')
        return input as unknown
      }),
  })
  const url = await serve(router)
  const call = (path: 'order' | 'pay', key: string, { input = 'secret', user = 'alice', attempt = 1 } = {}) =>
    rawCall(url, { path, key, input, user, attempt })
  return { idempotency, call }
}

const stored = () =>
  db.query(
    `select k.key, k.status, k.result, k.result_kind, k.fence, p.result as point
    from idempotency_keys k left join idempotency_recovery_points p using (key, scope)
    where k.scope = 'alice' order by k.key`,
  )

test('every result of a scope is erased, and its keys never run again', async () => {
  const { idempotency, call } = await shop()
  const [ordered, paid] = [v7(), v7()]
  await call('order', ordered)
  await call('pay', paid)
  const bobs = await call('order', ordered, { user: 'bob' })

  expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 2, inFlight: 0 })
  const tombstone = { status: 'settled', result: 'RESULT_ERASED', result_kind: 'tombstone', fence: 1, point: null }
  expect(await stored()).toEqual([
    { key: ordered, ...tombstone },
    { key: paid, ...tombstone },
  ])
  for (const attempt of [1, 2]) {
    for (const [path, key] of [['order', ordered] as const, ['pay', paid] as const]) {
      const answer = await call(path, key, { attempt })
      expect(answer.status).toBe(412)
      expect(said(answer)).toEqual(ERASED)
    }
  }
  expect(await db.runs(paid)).toBe(1)
  // Bob's run and Alice's.
  expect(await db.runs(ordered)).toBe(2)
  expect((await call('order', ordered, { user: 'bob', attempt: 2 })).text).toBe(bobs.text)
  expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 0, inFlight: 0 })
  expect(await idempotency.status({ scope: 'alice', key: paid })).toEqual({
    status: 'settled',
    as: 'tombstone',
    reason: 'RESULT_ERASED',
  })
})

storesErrors('a stored error is erased like a result, and its outcome with it', async () => {
  const { idempotency, call } = await shop()
  const key = v7()
  expect((await call('order', key, { input: 'sold out' })).error?.message).toBe('sold out for Alice')
  expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 1, inFlight: 0 })
  expect(await stored()).toEqual([
    { key, status: 'settled', result: 'OUTCOME_ERASED', result_kind: 'tombstone', fence: 1, point: null },
  ])
  expect(said(await call('order', key, { input: 'sold out', attempt: 2 }))).toEqual(OUTCOME_ERASED)
  expect(await db.runs(key)).toBe(1)
})

test.for([
  ['released', `status = 'released', lease_expires_at = null`],
  ['abandoned', `status = 'in_flight', lease_expires_at = now(), on_unknown = 'retry'`],
  ['abandoned, for an operator to decide,', `status = 'in_flight', lease_expires_at = now(), on_unknown = 'manual'`],
] as const)(
  'an operation that was %s is settled by its erasure: no attempt goes on with it, nor does its holder',
  async ([, state]) => {
    const { idempotency, call } = await shop()
    const key = v7()
    await call('pay', key, { input: 'fails' })
    await db.query(`update idempotency_keys set ${state} where key = $1`, [key])

    expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 1, inFlight: 0 })
    expect(await stored()).toEqual([
      { key, status: 'settled', result: 'OUTCOME_ERASED', result_kind: 'tombstone', fence: 2, point: null },
    ])
    expect(said(await call('pay', key, { input: 'fails', attempt: 2 }))).toEqual(OUTCOME_ERASED)
    expect(await db.runs(key)).toBe(1)
  },
)

test('an operation whose lease lives is left alone and counted, and what it recorded is still there', async () => {
  const { idempotency, call } = await shop()
  const key = v7()
  await call('pay', key, { input: 'fails' })
  await db.query(`update idempotency_keys set status = 'in_flight', lease_expires_at = now() + interval '1 hour'`)
  const before = await stored()
  expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 0, inFlight: 1 })
  expect(await stored()).toEqual(before)
  expect(before).toMatchObject([{ key, status: 'in_flight', point: '{"card":"4242"}' }])
})

test('an operation that is taken over while its erasure waits for the row is left alone', async () => {
  const { idempotency, call } = await shop()
  const key = v7()
  await call('pay', key, { input: 'fails' })
  const taker = await db.connect()
  try {
    await taker.query('begin')
    await taker.query(
      `update idempotency_keys set status = 'in_flight', fence = fence + 1, lease_expires_at = now() + interval '1 hour'`,
    )
    const forgotten = idempotency.forget({ scope: 'alice' })
    await expect
      .poll(() => db.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%erased%'`))
      .toHaveLength(1)
    await taker.query('commit')
    expect(await forgotten).toEqual({ erased: 0, inFlight: 1 })
  } finally {
    taker.release()
  }
  expect(await stored()).toMatchObject([{ key, status: 'in_flight', fence: 2, point: '{"card":"4242"}' }])
})

test('a result that was too large to store has a tombstone already; its recovery points are erased', async () => {
  const { idempotency, call } = await shop()
  const key = v7()
  await call('pay', key)
  await db.query(`update idempotency_keys set result = 'RESULT_TOO_LARGE', result_kind = 'tombstone'`)
  expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 1, inFlight: 0 })
  expect(await stored()).toMatchObject([{ key, result: 'RESULT_TOO_LARGE', point: null }])
})

test('a scope of more operations than one statement erases is erased to the last', async () => {
  const { idempotency } = await shop()
  await db.query(
    `insert into idempotency_keys (key, scope, procedure, fingerprint, status, result, result_kind, fence, attempts, claimed_at, settled_at)
    select '01890000-0000-7000-8000-' || lpad(n::text, 12, '0'), 'alice', 'order', '\\x01', 'settled', '"secret"', 'value', 1, 1, now(), now()
    from generate_series(1, 2001) as n`,
  )
  expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 2001, inFlight: 0 })
  expect(await db.query(`select distinct result from idempotency_keys`)).toEqual([{ result: 'RESULT_ERASED' }])
})

test('an erased key that is swept is refused for its age, and never runs', async () => {
  const { idempotency, call } = await shop()
  const key = v7()
  await call('order', key)
  await idempotency.forget({ scope: 'alice' })
  await db.query(
    `update idempotency_watermark set key = 'ffffffff-0000-7000-8000-000000000000', raised_at = now() - interval '1 hour'`,
  )
  expect(await sweepOnce(idempotency)).toMatchObject({ deleted: 1 })
  expect(said(await call('order', key, { attempt: 2 }))).toMatchObject({ reason: 'KEY_TOO_OLD' })
  expect(await db.runs(key)).toBe(1)
  await db.query(`update idempotency_watermark set key = '00000000-0000-7000-8000-000000000000'`)
})

test('forget refuses a scope that names nobody, and says when the database failed', async () => {
  const { idempotency } = await shop()
  expect(await caught(idempotency.forget({ scope: 'org:undefined' }))).toMatchObject({ reason: 'SCOPE_MISSING' })
  await db.query('alter table idempotency_keys rename to gone')
  try {
    expect(await caught(idempotency.forget({ scope: 'alice' }))).toMatchObject({
      reason: 'STORE_UNAVAILABLE',
      attemptOutcome: 'UNKNOWN',
      message: 'forget: the database failed (see the cause). Call it again.',
    })
  } finally {
    await db.query('alter table gone rename to idempotency_keys')
  }
})
