import pg from 'pg'
import { maintainPartitions, sweepOnce } from '../../server/index.js'
import { percentile } from '../measure/percentile.js'
import { inWords, ratio } from '../measure/ratio.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Bench, Section } from '../section.js'
import { fillKeys } from './fillKeys.js'
import { callFor, keepCalling, openShop, type Shop, type Timed } from './measuredCalls.js'
import { partitionByHours } from './partitionByHours.js'
import { type PlanCost, planCosts } from './planCosts.js'
import { STATEMENTS, statementCosts } from './statementCosts.js'
import { queryOnce, raiseWatermark } from './watermark.js'

const HOUR = 3_600_000
const RETENTION_MS = 72 * HOUR
/** A day of births that is over, and three that are not. */
const FORGOTTEN_AGES: [number, number] = [97 * HOUR, 73 * HOUR]

type Way = 'deletes' | 'dropped partition'

interface Lane {
  way: Way
  url: string
  shop: Shop
  expire(): Promise<number>
  /** How long callers wait, by round. */
  p50: number[]
  replayP50: number[]
}

interface Expired {
  rows: number
  ms: number
  walBytes: number
  /** Of the table and its index, before and after, in bytes. */
  before: number
  after: number
  /** Of the calls that began before, and of those that ran meanwhile or began within two seconds of it; in ms. */
  calm: { p50: number; p99: number; longest: number }
  meanwhile: { p50: number; p99: number; longest: number }
}

/** What it costs to forget a day of keys: row by row, and as a partition. And what a partitioned table costs otherwise. */
export async function expiry(bench: Bench): Promise<Section> {
  const forgotten = bench.quick ? 50_000 : 1_000_000
  const rounds = bench.quick ? 3 : 7
  const lanes = [await prepare(bench, 'deletes', forgotten), await prepare(bench, 'dropped partition', forgotten)]
  const [plain, partitioned] = lanes
  if (plain === undefined || partitioned === undefined) throw new Error('two ways are compared')
  try {
    for (let round = 0; round <= rounds; round += 1) {
      for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) await runRound(lane, bench.quick ? 700 : 2000)
    }
    for (const lane of lanes) for (const times of [lane.p50, lane.replayP50]) times.shift()
    const costs = [await statementCosts(plain.url, 200), await statementCosts(partitioned.url, 200)] as const
    const plans = await planCosts(bench)
    const expired = { plain: await expire(plain), partitioned: await expire(partitioned) }
    return section({ plain, partitioned, costs, plans, expired })
  } finally {
    for (const { shop } of lanes) await shop.close()
  }
}

async function prepare(bench: Bench, way: Way, forgotten: number): Promise<Lane> {
  const url = await bench.database(`expiry_${way.replaceAll(' ', '_')}`)
  // The oldest births in a partition of their own, and one for each of the days since.
  if (way === 'dropped partition') await partitionByHours(url, { hours: 24, from: -97, to: 47 })
  await fillKeys(url, { rows: forgotten, ages: FORGOTTEN_AGES })
  await fillKeys(url, { rows: forgotten, ages: [RETENTION_MS - HOUR, 0] })
  await queryOnce(url, 'checkpoint')
  const shop = await openShop(url)
  const expire = async () => {
    await raiseWatermark(url, RETENTION_MS)
    if (way === 'deletes') return (await sweepOnce(shop.idempotency)).deleted
    const { dropped, left } = await maintainPartitions(shop.idempotency)
    if (dropped !== 1 || left !== 0) throw new Error(`${dropped} partitions were dropped, and ${left} left`)
    return forgotten
  }
  return { way, url, shop, expire, p50: [], replayP50: [] }
}

async function runRound({ shop, p50, replayP50 }: Lane, roundMs: number): Promise<void> {
  p50.push(summary(await callFor(roundMs, shop.create)).p50)
  const keys = shop.keys.slice(-200)
  let at = 0
  replayP50.push(summary(await callFor(roundMs / 4, () => shop.replay(keys[at++ % keys.length] ?? ''))).p50)
}

/** Forgets a day of keys while all callers go on. */
async function expire({ url, shop, expire }: Lane): Promise<Expired> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const wal = async () => {
    const { rows } = await client.query<{ at: number }>(`select (pg_current_wal_insert_lsn() - '0/0')::float8 as at`)
    return rows[0]?.at ?? Number.NaN
  }
  try {
    const before = await sizeOf(client)
    const calls = keepCalling(shop.create)
    const calmFrom = await wal()
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const [begun, walBegun, callsBefore] = [performance.now(), await wal(), calls.timed.length]
    const rows = await expire()
    const ended = performance.now()
    const walEnded = await wal()
    const callsMeanwhile = calls.timed.length - callsBefore
    await new Promise((resolve) => setTimeout(resolve, 2000))
    await calls.stop()
    // What the calls wrote is not the sweep's.
    const walACall = (walBegun - calmFrom) / callsBefore
    // Room that vacuum gives back: what is at the end of the file.
    await client.query('vacuum idempotency_keys')
    return {
      rows,
      ms: ended - begun,
      walBytes: Math.max(0, walEnded - walBegun - walACall * callsMeanwhile),
      before,
      after: await sizeOf(client),
      calm: summary(calls.timed.filter((call) => call.begun + call.ms < begun)),
      meanwhile: summary(calls.timed.filter((call) => call.begun + call.ms >= begun && call.begun < ended + 2000)),
    }
  } finally {
    await client.end()
  }
}

async function sizeOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select pg_total_relation_size('idempotency_keys')::float8
      + coalesce((select sum(pg_total_relation_size(inhrelid)) from pg_inherits where inhparent = 'idempotency_keys'::regclass), 0)
      as bytes`,
  )
  return rows[0]?.bytes ?? Number.NaN
}

function summary(timed: readonly Timed[]): { p50: number; p99: number; longest: number } {
  const took = timed.map(({ ms }) => ms)
  return { p50: percentile(took, 0.5), p99: percentile(took, 0.99), longest: percentile(took, 1) }
}

interface Measured {
  plain: Lane
  partitioned: Lane
  costs: readonly [Awaited<ReturnType<typeof statementCosts>>, Awaited<ReturnType<typeof statementCosts>>]
  plans: readonly PlanCost[]
  expired: { plain: Expired; partitioned: Expired }
}

function section({ plain, partitioned, costs: [plainCosts, partitionedCosts], plans, expired }: Measured): Section {
  const latency = {
    'p50, first calls': ratio(partitioned.p50, plain.p50),
    'p50, replays': ratio(partitioned.replayP50, plain.replayP50),
  }
  const both = [expired.plain, expired.partitioned]
  const line = (name: string, of: (one: Expired) => string) => [name, ...both.map(of)]
  const percent = (one: number, other: number) => `${((100 * one) / other).toFixed(0)} %`
  const text = [
    `${expired.plain.rows.toLocaleString('en')} keys whose retention is over, beside as many that are young, while 8 callers go on:`,
    '',
    markdownTable(
      ['', plain.way, partitioned.way],
      [
        line('time, ms', ({ ms }) => ms.toFixed(0)),
        line('WAL, bytes a key', ({ walBytes, rows }) => (walBytes / rows).toFixed(1)),
        line('p50 of calls meanwhile, to before', ({ calm, meanwhile }) => (meanwhile.p50 / calm.p50).toFixed(2)),
        line('p99 of calls meanwhile, to before', ({ calm, meanwhile }) => (meanwhile.p99 / calm.p99).toFixed(2)),
        line('longest call meanwhile, ms', ({ meanwhile }) => meanwhile.longest.toFixed(0)),
        line('longest call before, ms', ({ calm }) => calm.longest.toFixed(0)),
        line('files after it and a vacuum, to before', ({ before, after }) => percent(after, before)),
      ],
    ),
    '',
    'What a partitioned table costs otherwise, to one that is not:',
    '',
    markdownTable(
      ['partitioned to plain', 'ratio'],
      Object.entries(latency).map(([name, spread]) => [name, inWords(spread)]),
    ),
    '',
    markdownTable(
      ['', 'buffers, plain', 'partitioned', 'planning, plain, µs', 'partitioned'],
      STATEMENTS.map((name) => [
        name,
        plainCosts[name].buffers.toFixed(1),
        partitionedCosts[name].buffers.toFixed(1),
        (1000 * plainCosts[name].planningMs).toFixed(0),
        (1000 * partitionedCosts[name].planningMs).toFixed(0),
      ]),
    ),
    '',
    'How that grows with the number of partitions, claim, settle and read of one key together, in µs: planned each time, as Prisma',
    'sends them; and prepared by name, which leaves the choice of a generic plan to Postgres.',
    '',
    markdownTable(
      ['partitions', 'planned each time', 'prepared', 'prepared, generic plan forced'],
      plans.map(({ partitions, unnamed, named, generic }) => [
        String(partitions),
        ...[unnamed, named, generic].map((ms) => (1000 * ms).toFixed(0)),
      ]),
    ),
  ].join('\n')
  return { title: 'Forgetting by partitions', text, figures: { latency, expired, plans, plainCosts, partitionedCosts } }
}
