import pg from 'pg'
import { alternately } from '../measure/alternately.js'
import { percentile } from '../measure/percentile.js'
import { keepAlive } from '../measure/post.js'
import { inWords, ratio, type Spread } from '../measure/ratio.js'
import type { Bench, Section } from '../section.js'
import { PLAIN_TABLE } from './plainClaim.js'
import { type RoundResult, type SlowOperation, stormRound } from './stormRound.js'
import { startStormServers } from './stormServers.js'
import { CLIENTS, OTHERS, POOL, SLOW_KEYS, SLOW_MS } from './terms.js'

const LANES = {
  'ours calm': { claims: 'ours', sentBy: 'one' },
  'ours storm': { claims: 'ours', sentBy: 'all' },
  'ours timers': { claims: 'ours', sentBy: 'one, others wait' },
  'plain calm': { claims: 'plain', sentBy: 'one' },
  'plain storm': { claims: 'plain', sentBy: 'all' },
} as const
const PROCESSES = 2

/** What normal mutations keep of their speed while clients retry slow ones in crowds. */
export async function retryStorm(bench: Bench): Promise<Section> {
  const [rounds, ms] = bench.quick ? [2, 1000] : [7, 3000]
  const url = await bench.database('storm')
  const database = new pg.Client(url)
  await database.connect()
  await database.query(PLAIN_TABLE)
  const servers = await startStormServers(url, PROCESSES)
  const { post, close } = keepAlive()
  try {
    const lanes = Object.keys(LANES) as (keyof typeof LANES)[]
    const measured = await alternately(lanes, rounds, (lane) => stormRound(post, servers.urls, { ...LANES[lane], ms }))
    const timers = compared(measured['ours calm'], measured['ours timers'])
    const ours = compared(measured['ours calm'], measured['ours storm'])
    const plain = compared(measured['plain calm'], measured['plain storm'])
    const answered = Object.values(measured).flatMap((results) => results.flatMap(({ slow }) => slow))
    await expectOneEffect(
      database,
      answered.filter(({ answers }) => answers.size > 0),
    )
    return { title: 'A retry storm', text: textOf({ ours, timers, plain }), figures: { ours, timers, plain } }
  } finally {
    close()
    await servers.stop()
    await database.end()
  }
}

interface Compared {
  /** Throughput of the others in the storm, to that without duplicates. */
  throughput: Spread
  calmPerSecond: number
  stormPerSecond: number
  calmP99Ms: number
  stormP99Ms: number
  slowOperations: { calm: number; storm: number }
  duplicatesRefused: number
  othersFailed: number
}

function compared(calm: RoundResult[], storm: RoundResult[]): Compared {
  const speeds = (results: RoundResult[]) => results.map(({ perSecond }) => perSecond)
  const p99 = (results: RoundResult[]) =>
    percentile(
      results.flatMap(({ latencies }) => latencies),
      0.99,
    )
  const slowOf = (results: RoundResult[]) => results.flatMap(({ slow }) => slow)
  const differing = slowOf(storm).filter(({ answers }) => answers.size > 1)
  if (differing.length > 0) throw new Error(`${differing.length} slow operations were answered in different ways`)
  return {
    throughput: ratio(speeds(storm), speeds(calm)),
    calmPerSecond: percentile(speeds(calm), 0.5),
    stormPerSecond: percentile(speeds(storm), 0.5),
    calmP99Ms: p99(calm),
    stormP99Ms: p99(storm),
    slowOperations: { calm: slowOf(calm).length, storm: slowOf(storm).length },
    duplicatesRefused: slowOf(storm).reduce((sum, { refused }) => sum + refused, 0),
    othersFailed: [...calm, ...storm].reduce((sum, { failed }) => sum + failed, 0),
  }
}

/** Every slow operation has an item of its own: one order of it, and no other order. */
async function expectOneEffect(database: pg.Client, answered: SlowOperation[]): Promise<void> {
  const { rows } = await database.query<{ item: string; orders: number }>(
    `select item, count(*)::int as orders from orders where item like 'slow %' group by item`,
  )
  const ordersOf = new Map(rows.map(({ item, orders }) => [item, orders]))
  const wrong = answered.filter(({ item }) => ordersOf.get(item) !== 1)
  if (wrong.length > 0) throw new Error(`${wrong.length} slow operations that were answered had no effect, or several`)
}

function textOf({ ours, timers, plain }: Record<'ours' | 'timers' | 'plain', Compared>): string {
  const row = (name: string, { throughput, ...of }: Compared) =>
    `| ${name} | ${inWords(throughput)} | ${of.calmPerSecond.toFixed(0)} | ${of.stormPerSecond.toFixed(0)} | ${of.calmP99Ms.toFixed(0)} | ${of.stormP99Ms.toFixed(0)} | ${of.duplicatesRefused} |`
  return [
    `${PROCESSES} servers with a pool of ${POOL} each; ${SLOW_KEYS} fresh keys at a time, whose handler takes ${SLOW_MS} ms in its`,
    `transaction, each sent by ${CLIENTS} clients over both servers; ${OTHERS} callers of normal mutations beside them, with the wrapper. The calm`,
    'rounds have the same slow keys, each sent once. Servers, clients and Postgres share one machine, so what',
    'the duplicates cost as HTTP requests is in these numbers too. Every key had one effect, and its clients one answer.',
    '',
    '| claims | throughput of the others, storm to calm | calm, a second | storm, a second | p99 calm, ms | p99 storm, ms | duplicates refused |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    row('ours', ours),
    row('ours, and the duplicates wait for a timer: requests alone', timers),
    row('plain, blocking in the transaction', plain),
  ].join('\n')
}
