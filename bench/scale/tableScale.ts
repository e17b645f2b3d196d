import { sweepOnce } from '../../server/index.js'
import { percentile } from '../measure/percentile.js'
import { inWords, ratio, type Spread } from '../measure/ratio.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Bench, Section } from '../section.js'
import { type Churn, churn } from './churn.js'
import { addKeys, fillKeys } from './fillKeys.js'
import { callFor, openShop, type Shop } from './measuredCalls.js'
import { type Cost, FIRST_CALL, STATEMENTS, type StatementName, statementCosts } from './statementCosts.js'
import { raiseWatermark } from './watermark.js'

const HOUR = 3_600_000
const RETENTION_MS = 72 * HOUR
/** Beyond the retention: what the sweep deletes. */
const FORGOTTEN_AGES: [number, number] = [80 * HOUR, 73 * HOUR]
const SWEEP_EVERY_MS = 250
/** About as many as arrive meanwhile. */
const SWEEP_BATCH = 200

interface Lane {
  name: string
  rows: number
  url: string
  shop: Shop
  /** By round, in ms or calls a second. */
  p50: number[]
  p99: number[]
  perSecond: number[]
  replayP50: number[]
  costs: Record<StatementName, Cost>
}

/** Whether an operation costs the same however many keys are in the table. */
export async function tableScale(bench: Bench): Promise<Section> {
  const sizes = bench.quick ? [10_000, 200_000] : [10_000, 10_000_000]
  const rounds = bench.quick ? 3 : 9
  const roundMs = bench.quick ? 1000 : 2500
  const lanes: Lane[] = []
  for (const rows of sizes) lanes.push(await prepare(bench, rows))
  const [small, big] = lanes
  if (small === undefined || big === undefined) throw new Error('two sizes are compared')
  try {
    // The first round warms up and does not count.
    for (let round = 0; round <= rounds; round += 1) {
      for (const lane of round % 2 === 0 ? lanes : lanes.toReversed())
        await runRound(lane, { roundMs, counts: round > 0 })
    }
    const sweepsPerSecond = await sweepRate(big)
    const churned = await churn(bench)
    return section({ small, big, sweepsPerSecond, churned })
  } finally {
    for (const { shop } of lanes) await shop.close()
  }
}

async function prepare(bench: Bench, rows: number): Promise<Lane> {
  const name = `${rows.toLocaleString('en')} keys`
  const url = await bench.database(`scale_${rows}`)
  await fillKeys(url, { rows, ages: [RETENTION_MS - HOUR, 0] })
  await raiseWatermark(url, RETENTION_MS)
  const shop = await openShop(url)
  const costs = await whileSweeping({ shop, url, seconds: 2 }, () => statementCosts(url, bench.quick ? 100 : 400))
  return { name, rows, url, shop, p50: [], p99: [], perSecond: [], replayP50: [], costs }
}

async function runRound(lane: Lane, { roundMs, counts }: { roundMs: number; counts: boolean }): Promise<void> {
  const { shop, url } = lane
  const begun = performance.now()
  let took = 0
  const seconds = (roundMs * 1.2) / 1000
  const { fresh, replays } = await whileSweeping({ shop, url, seconds }, async () => {
    const fresh = (await callFor(roundMs, shop.create)).map(({ ms }) => ms)
    took = performance.now() - begun
    const keys = shop.keys.slice(-200)
    let at = 0
    const replays = await callFor(roundMs / 5, () => shop.replay(keys[at++ % keys.length] ?? ''))
    return { fresh, replays: replays.map(({ ms }) => ms) }
  })
  if (!counts) return
  lane.p50.push(percentile(fresh, 0.5))
  lane.p99.push(percentile(fresh, 0.99))
  lane.perSecond.push((1000 * fresh.length) / took)
  lane.replayP50.push(percentile(replays, 0.5))
}

/** Keeps the table at its size, as a sweep in time would: what it deletes for so many seconds is there first. */
async function whileSweeping<End>(
  { shop, url, seconds }: Pick<Lane, 'shop' | 'url'> & { seconds: number },
  body: () => Promise<End>,
): Promise<End> {
  const rows = Math.round((1000 * seconds * SWEEP_BATCH) / SWEEP_EVERY_MS)
  await addKeys(url, { rows, ages: FORGOTTEN_AGES })
  let sweeping: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => {
    sweeping = sweeping.then(() => shop.idempotency.sweeper.deleteBatch(SWEEP_BATCH))
  }, SWEEP_EVERY_MS)
  try {
    return await body()
  } finally {
    clearInterval(timer)
    await sweeping
  }
}

/** Rows a second that one sweep deletes while all callers send new keys, and what these are a second meanwhile. */
async function sweepRate({ url, shop }: Lane): Promise<{ swept: number; arrived: number }> {
  await addKeys(url, { rows: 20_000, ages: FORGOTTEN_AGES })
  let deleted = 0
  let took = 0
  let done = false
  const sweep = async () => {
    const begun = performance.now()
    deleted = (await sweepOnce(shop.idempotency)).deleted
    took = performance.now() - begun
    done = true
  }
  const sweeping = sweep()
  let arrived = 0
  while (!done) arrived += (await callFor(200, shop.create)).length
  await sweeping
  return { swept: (1000 * deleted) / took, arrived: (1000 * arrived) / took }
}

interface Measured {
  small: Lane
  big: Lane
  sweepsPerSecond: { swept: number; arrived: number }
  churned: Churn
}

function section({ small, big, sweepsPerSecond: { swept, arrived }, churned }: Measured): Section {
  const latency = {
    'p50, first calls': ratio(big.p50, small.p50),
    'p99, first calls': ratio(big.p99, small.p99),
    'calls a second': ratio(big.perSecond, small.perSecond),
    'p50, replays': ratio(big.replayP50, small.replayP50),
  }
  const sum = ({ costs }: Lane, of: keyof Cost) => FIRST_CALL.reduce((all, name) => all + costs[name][of], 0)
  const costRows = STATEMENTS.map((name) => [
    name,
    ...[small, big].flatMap(({ costs }) => [costs[name].buffers.toFixed(1), costs[name].walBytes.toFixed(0)]),
  ])
  const total = [
    'claim, order and settle',
    ...[small, big].flatMap((lane) => [sum(lane, 'buffers').toFixed(1), sum(lane, 'walBytes').toFixed(0)]),
  ]
  const [buffers, wal] = (['buffers', 'walBytes'] as const).map((of) => sum(big, of) / sum(small, of))
  const text = [
    `Two databases on one Postgres, ${small.name} and ${big.name} at first, all settled and of the last 72 hours. 8 callers take`,
    'turns on them, without HTTP, while a sweep deletes about as many older ones as arrive.',
    '',
    markdownTable(
      [`${big.name} to ${small.name}`, 'ratio'],
      Object.entries(latency).map(([name, spread]) => [name, inWords(spread)]),
    ),
    '',
    'What Postgres counts for a statement (`explain (analyze, buffers, wal)` of what the library sends, means):',
    '',
    markdownTable(
      ['', ...[small, big].flatMap(({ rows }) => [`buffers, ${short(rows)}`, `WAL bytes, ${short(rows)}`])],
      [...costRows.slice(0, -1), total, ...costRows.slice(-1)],
    ),
    '',
    `Over a first call that is ${buffers?.toFixed(2)} of the buffers and ${wal?.toFixed(2)} of the WAL. What grows is the depth of the primary`,
    "key's B-tree: claim, settle and read go down it once each, to look the key up, and every level is one buffer. The insert of a",
    'claim does not: Postgres remembers the right edge, where a UUIDv7 belongs. All of these pages stay in memory.',
    '',
    `One sweep deleted ${swept.toFixed(0)} rows a second from ${big.name}, while ${arrived.toFixed(0)} operations a second arrived.`,
    '',
    churned.text,
  ].join('\n')
  const figures = {
    latency: latency as Record<string, Spread>,
    costs: Object.fromEntries([small, big].map(({ name, costs }) => [name, costs])),
    ratios: { buffers, wal },
    p99: Object.fromEntries([small, big].map(({ name, p99 }) => [name, p99])),
    sweep: { swept, arrived },
    churn: churned.figures,
  }
  return { title: 'Scale of the table', text, figures }
}

const short = (rows: number) => (rows >= 1_000_000 ? `${rows / 1_000_000} M` : `${rows / 1000} k`)
