import pg from 'pg'
import { sqlSweeper } from '../../server/store/sqlSweeper.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Bench } from '../section.js'
import { fillKeys } from './fillKeys.js'
import { keyOf } from './rows.js'

export interface Churn {
  text: string
  figures: Record<string, unknown>
}

const HOUR = 3_600_000
const RETENTION_MS = 72 * HOUR
/** A batch of operations stands for so much time. */
const STEP_MS = 5 * 60_000
const SWEEP_EVERY = 3
const DAYS = 2

/**
 * What the files of the table grow to where days of births pass in a minute: a third of the keys a day. In batches on the
 * server: what a claim and a settle write, and what a sweep deletes, with autovacuum on and as much faster as the days are.
 */
export async function churn(bench: Bench): Promise<Churn> {
  const rows = bench.quick ? 60_000 : 600_000
  const url = await bench.database('churn')
  // The days lie in the past: what has to be younger than now at their end is.
  const beginsMs = DAYS * 24 * HOUR
  await fillKeys(url, { rows, ages: [beginsMs + RETENTION_MS, beginsMs] })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows: naptime } = await client.query<{ value: string }>(
    `select current_setting('autovacuum_naptime') as value`,
  )
  // A minute of sleep would be hours of births. This one is still a quarter of an hour.
  await client.query(`alter system set autovacuum_naptime = '1s'`)
  await client.query('select pg_reload_conf()')
  try {
    const perStep = Math.round((rows * STEP_MS) / RETENTION_MS)
    const before = await sizes(client)
    const samples = [{ day: 0, ...before }]
    const begun = performance.now()
    const steps = (DAYS * 24 * HOUR) / STEP_MS
    for (let step = 1; step <= steps; step += 1) {
      const ageMs = beginsMs - step * STEP_MS
      await operations(client, { count: perStep, ageMs, seed: step })
      if (step % SWEEP_EVERY === 0) await sweepAt(client, ageMs)
      if (step % (steps / (DAYS * 8)) === 0)
        samples.push({ day: (step * STEP_MS) / (24 * HOUR), ...(await sizes(client)) })
    }
    const seconds = (performance.now() - begun) / 1000
    const most = (of: 'table' | 'index', day: number) =>
      Math.max(...samples.filter((one) => one.day > day - 1 && one.day <= day).map((one) => one[of])) / before[of]
    const days = Array.from({ length: DAYS }, (_, at) => at + 1)
    const text = [
      `Bloat: ${rows.toLocaleString('en')} keys of 72 hours, and ${DAYS} days of births, settles and sweeps in ${seconds.toFixed(0)} seconds,`,
      `with autovacuum every second. The largest that the files were, to what they were before:`,
      '',
      markdownTable(
        ['', ...days.map((day) => `day ${day}`)],
        (['table', 'index'] as const).map((of) => [of, ...days.map((day) => most(of, day).toFixed(2))]),
      ),
    ].join('\n')
    return { text, figures: { rows, seconds, samples } }
  } finally {
    await client.query(`alter system set autovacuum_naptime = '${naptime[0]?.value}'`)
    await client.query('select pg_reload_conf()')
    await client.end()
  }
}

/** Claims and settles so many operations of one age in one transaction: each row is written twice, as ever. */
async function operations(client: pg.Client, of: { count: number; ageMs: number; seed: number }): Promise<void> {
  const { count, ageMs, seed } = of
  await client.query('begin')
  const { rows } = await client.query<{ keys: string[] }>(
    `with made as (
      insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
      select ${keyOf('born.ms', 'born.random')}, 'user-' || substr(born.random, 1, 4), 'order.create',
        decode('01' || born.random || born.random, 'hex'), 'in_flight', 1, 1, clock_timestamp()
      from (
        select
          ((extract(epoch from now()) * 1000)::bigint - $2::bigint + n * ${STEP_MS} / $1::int)::bigint as ms,
          md5($3::text || '-' || n) as random
        from generate_series(1, $1::int) as n
      ) as born
      returning key
    )
    select array_agg(key) as keys from made`,
    [count, ageMs, String(seed)],
  )
  await client.query(
    `update idempotency_keys
    set status = 'settled', result = repeat('x', 200), result_kind = 'value', settled_at = clock_timestamp()
    where key = any($1::text[])`,
    [rows[0]?.keys],
  )
  await client.query('commit')
}

/** Two sweeps, with a margin between them, by a clock that is so far behind. */
async function sweepAt(client: pg.Client, ageMs: number): Promise<void> {
  const run = async <Row>(sql: string, parameters: readonly unknown[]) =>
    (await client.query(sql, [...parameters])).rows as Row[]
  const settings = { schema: undefined, retentionMs: RETENTION_MS + ageMs }
  const sweeper = sqlSweeper({ run }, settings)
  await client.query(`update idempotency_watermark set raised_at = raised_at - interval '1 hour'`)
  await sweeper.raiseWatermark()
  await client.query(`update idempotency_watermark set raised_at = raised_at - interval '1 hour'`)
  for (;;) if ((await sweeper.deleteBatch(1000)) < 1000) break
}

async function sizes(client: pg.Client): Promise<{ table: number; index: number; rows: number }> {
  const { rows } = await client.query<{ table: number; index: number; rows: number }>(
    `select pg_relation_size('idempotency_keys')::float8 as table,
      pg_relation_size('idempotency_keys_pkey')::float8 as index,
      (select reltuples::float8 from pg_class where oid = 'idempotency_keys'::regclass) as rows`,
  )
  return rows[0] ?? { table: Number.NaN, index: Number.NaN, rows: Number.NaN }
}
