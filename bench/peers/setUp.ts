import type { Bench } from '../section.js'
import { ROW_NAMES, type RowName } from './rows.js'
import type { Given } from './shop.js'
import type { Redis } from './startRedis.js'

/** A database, and one in Redis, for each row. */
export async function databases(bench: Bench, redis: Redis): Promise<Map<RowName, Given>> {
  const given = new Map<RowName, Given>()
  for (const [at, name] of ROW_NAMES.entries()) {
    given.set(name, { databaseUrl: await bench.database(`peers_${name.toLowerCase()}`), redisUrl: redis.url(at) })
  }
  return given
}
