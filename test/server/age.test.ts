import { type SharedOptions, sweepOnce } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { birthOf } from '../support/birthOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const TOO_OLD = { reason: 'KEY_TOO_OLD', attemptOutcome: 'NOT_EXECUTED', serverTimeMs: expect.any(Number) as number }

beforeEach(async () => {
  await db.query('truncate idempotency_keys, idempotency_recovery_points, orders, test_runs')
  // As the migration leaves it.
  await db.query(
    `update idempotency_watermark set key = '00000000-0000-7000-8000-000000000000', raised_at = '-infinity'`,
  )
})

/** A key that was born so long ago, by the clock of this machine, which is the database's too. */
const keyAged = (ms: number) => v7({ msecs: Date.now() - ms })

async function shop(options: SharedOptions = {}, inHandler: () => Promise<unknown> = async () => undefined) {
  const idempotency = shopIdempotency(db.prisma, options)
  const router = t.router({
    create: idempotency.transaction(authed).mutation(async ({ ctx }) => {
      await db.countRun(ctx.idempotency.key)
      await ctx.tx.order.create({ data: { customer: ctx.idempotency.key, item: 'tea', cents: 1 } })
      await inHandler()
      return 'done'
    }),
  })
  const url = await serve(router)
  return { idempotency, call: (key: string, attempt = 1) => rawCall(url, { path: 'create', key, attempt }) }
}

/** Lets a margin pass for the watermark, without waiting for it. */
const marginPasses = () => db.query(`update idempotency_watermark set raised_at = raised_at - interval '61 seconds'`)

async function keysLeft() {
  return (await db.keys()).map(({ key }) => key)
}

test('a key that is older than the retention is refused, and nothing runs', async () => {
  const { call } = await shop()
  const [young, old] = [keyAged(72 * HOUR - MINUTE), keyAged(72 * HOUR + MINUTE)]
  expect((await call(young)).status).toBe(200)
  for (const attempt of [1, 2]) {
    const answer = await call(old, attempt)
    expect(answer.status).toBe(412)
    expect(said(answer)).toEqual(TOO_OLD)
  }
  expect(await db.runs(old)).toBe(0)
  expect(await keysLeft()).toEqual([young])
})

test('a client whose clock is ten minutes ahead or behind is served; one that is further ahead is told so', async () => {
  const { call } = await shop()
  for (const key of [keyAged(10 * MINUTE), keyAged(-10 * MINUTE)]) {
    expect((await call(key)).data).toBe('done')
    expect((await call(key, 2)).data).toBe('done')
    expect(await db.runs(key)).toBe(1)
  }
  const ahead = keyAged(-11 * MINUTE)
  const answer = await call(ahead)
  expect(answer.status).toBe(400)
  const told = said(answer) as { serverTimeMs: number; retryAfterMs: number }
  expect(told).toEqual({
    reason: 'KEY_FROM_FUTURE',
    attemptOutcome: 'NOT_EXECUTED',
    serverTimeMs: expect.any(Number),
    retryAfterMs: expect.any(Number),
  })
  expect(await db.runs(ahead)).toBe(0)
  // What the client needs to make a better key: the database's time, and how far off the key is.
  expect(told.retryAfterMs).toBe(birthOf(ahead) - 10 * MINUTE - told.serverTimeMs)
  expect(told.retryAfterMs).toBeGreaterThan(0.5 * MINUTE)
  const [database] = await db.query<{ ms: number }>('select extract(epoch from clock_timestamp())::float8 * 1000 as ms')
  expect(Math.abs((database?.ms ?? 0) - told.serverTimeMs)).toBeLessThan(MINUTE)
})

test('a row that is still there answers, whatever its age', async () => {
  const key = keyAged(100 * HOUR)
  const long = await shop({ retentionMs: 200 * HOUR })
  const short = await shop({ retentionMs: 72 * HOUR })
  const first = await long.call(key)
  expect(first.status).toBe(200)
  for (const attempt of [1, 2]) expect((await short.call(key, attempt)).text).toBe(first.text)
  // Below the watermark too.
  await db.query(`update idempotency_watermark set key = $1, raised_at = now()`, [keyAged(HOUR)])
  for (const attempt of [1, 2]) expect((await short.call(key, attempt)).text).toBe(first.text)
  expect(await db.runs(key)).toBe(1)
})

test('a sweep deletes what an earlier one had marked, once a margin has passed, and no swept key executes again', async () => {
  const { idempotency, call } = await shop({ retentionMs: HOUR })
  const [old, young] = [keyAged(HOUR - MINUTE), keyAged(MINUTE)]
  await call(old)
  await call(young)
  const later = await shop({ retentionMs: 30 * MINUTE })

  expect(await sweepOnce(later.idempotency)).toEqual({ deleted: 0, raised: true })
  expect(await sweepOnce(later.idempotency)).toEqual({ deleted: 0, raised: false })
  expect(await keysLeft()).toEqual([old, young])
  // What is below the watermark is still answered while it is there.
  expect((await call(old, 2)).data).toBe('done')

  await marginPasses()
  expect(await sweepOnce(later.idempotency)).toEqual({ deleted: 1, raised: true })
  expect(await keysLeft()).toEqual([young])

  // Not by the server that swept, nor by one whose retention is longer.
  for (const { call: send } of [later, await shop({ retentionMs: 72 * HOUR })]) {
    for (const attempt of [1, 2]) expect(said(await send(old, attempt))).toEqual(TOO_OLD)
  }
  expect(await db.runs(old)).toBe(1)
  expect(idempotency.sweeper).toBeDefined()
})

test('a watermark that was raised with a short retention does not go down with a long one', async () => {
  const short = await shop({ retentionMs: HOUR })
  const long = await shop({ retentionMs: 72 * HOUR })
  await sweepOnce(short.idempotency)
  const [before] = await db.query('select key from idempotency_watermark')
  await marginPasses()
  expect(await sweepOnce(long.idempotency)).toEqual({ deleted: 0, raised: false })
  expect(await db.query('select key from idempotency_watermark')).toEqual([before])
  expect(said(await long.call(keyAged(2 * HOUR)))).toEqual(TOO_OLD)
  expect((await long.call(keyAged(30 * MINUTE))).status).toBe(200)
})

test('a sweep that runs every second still deletes', async () => {
  const { idempotency, call } = await shop({ retentionMs: 30 * MINUTE })
  await call(keyAged(29 * MINUTE))
  const short = (await shop({ retentionMs: 10 * MINUTE })).idempotency
  expect(idempotency.sweeper).toBeDefined()
  let deleted = 0
  for (let second = 0; second < 70; second += 1) {
    deleted += (await sweepOnce(short)).deleted
    await db.query(`update idempotency_watermark set raised_at = raised_at - interval '1 second'`)
  }
  expect(deleted).toBe(1)
})

test('where the migration’s row is missing, the first sweep makes it, and a later one raises it', async () => {
  await db.query('delete from idempotency_watermark')
  const { idempotency } = await shop({ retentionMs: HOUR })
  expect(await sweepOnce(idempotency)).toEqual({ deleted: 0, raised: false })
  expect(await sweepOnce(idempotency)).toEqual({ deleted: 0, raised: false })
  await marginPasses()
  expect(await sweepOnce(idempotency)).toEqual({ deleted: 0, raised: true })
})

test('a sweep deletes in batches until nothing is left to delete', async () => {
  const { idempotency } = await shop({ retentionMs: HOUR })
  await insertSettled(25, 3 * HOUR)
  await sweepOnce(idempotency)
  await marginPasses()
  expect(await sweepOnce(idempotency, { batchSize: 10 })).toEqual({ deleted: 25, raised: true })
})

test('a sweep spares leases that live and abandoned rows that a person has to decide, and takes every other', async () => {
  const { idempotency } = await shop({ retentionMs: HOUR })
  const rows = {
    settled: [`'settled'`, 'null', 'null'],
    released: [`'released'`, 'null', 'null'],
    'live lease': [`'in_flight'`, `now() + interval '1 minute'`, `'retry'`],
    'live lease, manual': [`'in_flight'`, `now() + interval '1 minute'`, `'manual'`],
    'abandoned, retry': [`'in_flight'`, `now() - interval '1 minute'`, `'retry'`],
    'abandoned, manual': [`'in_flight'`, `now() - interval '1 minute'`, `'manual'`],
  }
  for (const [scope, [status, lease, onUnknown]] of Object.entries(rows)) {
    await db.query(
      `insert into idempotency_keys
        (key, scope, procedure, fingerprint, status, result_kind, fence, on_unknown, attempts, claimed_at, lease_expires_at, settled_at)
      select $1, $2, 'p', '\\x01', ${status}, case when ${status} = 'settled' then 'value' end, 1, ${onUnknown}, 1, now(), ${lease},
        case when ${status} = 'settled' then now() end`,
      [keyAged(2 * HOUR), scope],
    )
  }
  await sweepOnce(idempotency)
  await marginPasses()
  expect((await sweepOnce(idempotency)).deleted).toBe(3)
  expect((await db.keys()).map(({ scope }) => scope).sort()).toEqual([
    'abandoned, manual',
    'live lease',
    'live lease, manual',
  ])
})

test('a sweep passes by a row that somebody works on, and two sweeps at once share the work', async () => {
  const { idempotency } = await shop({ retentionMs: HOUR })
  await insertSettled(2000, 3 * HOUR)
  await sweepOnce(idempotency)
  await marginPasses()
  const other = await db.connect()
  await other.query('begin; select 1 from idempotency_keys order by key limit 1 for update')
  const swept = await Promise.all([1, 2, 3].map(() => sweepOnce(idempotency, { batchSize: 100 })))
  expect(swept.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(1999)
  await other.query('commit')
  other.release()
})

test('a claim that waited while the watermark passed its key is refused by the settle, and nothing is left', async () => {
  const key = keyAged(30 * MINUTE)
  const { call } = await shop({ claimWaitMs: 4000 })
  // Somebody holds the key, and fails later.
  const holder = await db.connect()
  await holder.query('begin')
  await holder.query(
    `insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    values ($1, 'alice', 'create', '\\x01', 'in_flight', 1, 1, now())`,
    [key],
  )
  const waiting = call(key)
  await expect
    .poll(() =>
      db.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`),
    )
    .toHaveLength(1)
  await db.query(`update idempotency_watermark set key = $1, raised_at = now()`, [keyAged(20 * MINUTE)])
  await holder.query('rollback')
  holder.release()

  // Its maker's clock was right, so it is not told the time.
  expect(said(await waiting)).toEqual({ reason: 'KEY_TOO_OLD', attemptOutcome: 'NOT_EXECUTED' })
  // It had run: its snapshot was older than the watermark. It was the settle that noticed.
  expect(await db.runs(key)).toBe(1)
  expect(await db.orders()).toEqual([])
  expect(await keysLeft()).toEqual([])
})

test('sweepOnce: the complaint names option, bound and value', async () => {
  const { idempotency } = await shop()
  await expect(sweepOnce(idempotency, { batchSize: 0 })).rejects.toThrow(
    'sweepOnce: batchSize must be at least 1, got 0',
  )
  await expect(sweepOnce(idempotency, { batch: 1 } as object)).rejects.toThrow('sweepOnce: there is no option batch')
})

test('the sweep reads a range of the primary key, and not the whole table', async () => {
  await insertSettled(20_000, HOUR)
  await insertSettled(100, 100 * HOUR)
  await db.query('analyze idempotency_keys')
  const { sweep } = await import('../../server/store/sql/sweep.js')
  const { tablesIn } = await import('../../server/store/sql/tables.js')
  await db.query(`update idempotency_watermark set key = $1, raised_at = now() - interval '1 hour'`, [
    keyAged(72 * HOUR),
  ])
  const statement = sweep(tablesIn(undefined)).replace('$1::float8', '60000').replace('$2::int', '100')
  const plan = (await db.query<{ 'QUERY PLAN': string }>(`explain ${statement}`))
    .map((row) => row['QUERY PLAN'])
    .join('\n')
  // Of the table, or of each of its partitions.
  expect(plan).toMatch(/Index Scan using idempotency_keys\w*_pkey/)
  // An empty partition has nothing to read, and is read all the same.
  expect(plan.replace(/Seq Scan on .* \(cost=0\.00\.\.0\.00 .*/g, '')).not.toMatch(/Seq Scan on idempotency_keys/)
})

/** Rows of operations that were settled long ago. */
async function insertSettled(count: number, ageMs: number): Promise<void> {
  const keys = Array.from({ length: count }, () => keyAged(ageMs))
  await db.query(
    `insert into idempotency_keys
      (key, scope, procedure, fingerprint, status, result, result_kind, fence, attempts, claimed_at, settled_at)
    select key, 'alice', 'create', '\\x01', 'settled', '1', 'value', 1, 1, now(), now() from unnest($1::text[]) as key`,
    [keys],
  )
}
