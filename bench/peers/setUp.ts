import type { Bench } from '../section.js'
import { ROW_NAMES, type RowName } from './rows.js'
import type { Given } from './shop.js'
import type { Redis } from './startRedis.js'
import { type RunningRow, startRow } from './startRow.js'

/** A database, and one in Redis, for each row. */
export async function databases(bench: Bench, redis: Redis): Promise<Map<RowName, Given>> {
  const given = new Map<RowName, Given>()
  for (const [at, name] of ROW_NAMES.entries()) {
    given.set(name, { databaseUrl: await bench.database(`peers_${name.toLowerCase()}`), redisUrl: redis.url(at) })
  }
  return given
}

/** Runs `use` while a server of each row is up. */
export async function withRows<Result>(
  given: ReadonlyMap<RowName, Given>,
  use: (rows: ReadonlyMap<RowName, RunningRow>) => Promise<Result>,
): Promise<Result> {
  const rows = new Map<RowName, RunningRow>()
  try {
    for (const [name, own] of given) rows.set(name, await startRow({ name, ...own }))
    return await use(rows)
  } finally {
    for (const row of rows.values()) await row.stop()
  }
}
