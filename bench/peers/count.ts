import pg from 'pg'
import { v7 } from 'uuid'
import { inQueues } from '../../examples/support/inQueues.js'
import { spread } from '../measure/ratio.js'
import { startRelay } from './relay.js'
import { ROWS, type RowName } from './rows.js'
import type { Given } from './shop.js'
import { type RunningRow, startRow } from './startRow.js'

export interface Counts {
  /** Round trips of one first call, to Postgres and to Redis. */
  trips: { postgres: number; redis: number }
  /** The same of a replay; null where there are none. */
  replayTrips: { postgres: number; redis: number } | null
  /** WAL of a first call, in bytes. */
  wal: number
  /** What became of keys that were sent twice at once. */
  twice: Twice | null
}

export interface Twice {
  keys: number
  orders: number
  /** How many of the two calls for each key were answered with an order. */
  answers: number
}

/**
 * Counts in a pass of its own, without a clock, what a row's calls send and write.
 *
 * @param calls how many of each kind
 */
export async function count(name: RowName, given: Given, calls: number): Promise<Counts> {
  const postgres = await startRelay(given.databaseUrl)
  const redis = await startRelay(given.redisUrl)
  const database = new pg.Client({ connectionString: given.databaseUrl })
  await database.connect()
  const row = await startRow({ name, databaseUrl: postgres.url, redisUrl: redis.url })
  const keys = Array.from({ length: calls }, () => v7())
  const tripsOf = async (attempt: number) => {
    const before = { postgres: postgres.trips(), redis: redis.trips() }
    for (const key of keys) await row.call({ key, attempt })
    const each = (after: number, from: number) => Math.round((10 * (after - from)) / calls) / 10
    return { postgres: each(postgres.trips(), before.postgres), redis: each(redis.trips(), before.redis) }
  }
  try {
    // The first calls of a process send what later ones do not.
    for (let at = 0; at < calls; at += 1) await row.call({ key: v7(), attempt: 1 })
    const trips = await tripsOf(1)
    const wal = await walOf(row, database, calls)
    if (ROWS[name].keyIn === 'none') return { trips, replayTrips: null, wal, twice: null }
    return {
      trips,
      replayTrips: await tripsOf(2),
      wal,
      twice: await sendTwice(
        row,
        database,
        keys.map(() => v7()),
      ),
    }
  } finally {
    await row.stop()
    await database.end()
    postgres.close()
    redis.close()
  }
}

/** The middle of several batches: the database's own housekeeping falls into one or two of them. */
async function walOf(row: RunningRow, database: pg.Client, calls: number): Promise<number> {
  const batches: number[] = []
  for (let batch = 0; batch < 10; batch += 1) {
    const start = await written(database)
    for (let at = 0; at < calls / 10; at += 1) await row.call({ key: v7(), attempt: 1 })
    batches.push(((await written(database)) - start) / (calls / 10))
  }
  return Math.round(spread(batches).median)
}

async function written(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ bytes: string }>(
    `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes`,
  )
  return Number(rows[0]?.bytes)
}

/** Sends each key twice at the same time. */
async function sendTwice(row: RunningRow, database: pg.Client, keys: readonly string[]): Promise<Twice> {
  const input = { item: 'sent twice', cents: 1 }
  let answers = 0
  await inQueues(4, keys, async (key) => {
    const both = await Promise.all([1, 2].map(() => row.call({ key, attempt: 1, input })))
    answers += both.filter((id) => id !== null).length
  })
  const { rows } = await database.query<{ orders: number }>(
    `select count(*)::int as orders from orders where item = 'sent twice'`,
  )
  return { keys: keys.length, orders: rows[0]?.orders ?? 0, answers }
}
