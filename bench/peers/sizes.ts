import { createClient } from '@redis/client'
import pg from 'pg'
import type { Given } from './shop.js'

/** What is kept of one key, in bytes. */
export interface Sizes {
  keys: number
  table: number
  index: number
  redis: number
}

// All but the application's own tables and what Prisma and DBOS keep of migrations.
const TABLES = `select coalesce(sum(pg_table_size(c.oid)), 0)::float8 as table, coalesce(sum(pg_indexes_size(c.oid)), 0)::float8 as index
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema')
    and c.relname not in ('orders', 'payments', '_prisma_migrations', 'dbos_migrations')`

/** How much a row keeps of a key, from all the keys that it was sent. */
export async function sizes({ databaseUrl, redisUrl }: Given): Promise<Sizes> {
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const { rows } = await database.query<{ keys: number }>('select count(*)::int as keys from orders')
  const keys = rows[0]?.keys ?? 0
  const { rows: kept } = await database.query<{ table: number; index: number }>(TABLES)
  await database.end()
  return {
    keys,
    table: Math.round((kept[0]?.table ?? 0) / keys),
    index: Math.round((kept[0]?.index ?? 0) / keys),
    redis: await inRedis(redisUrl),
  }
}

async function inRedis(url: string): Promise<number> {
  const client = await createClient({ url }).connect()
  const sample: number[] = []
  for (let at = 0; at < 200; at += 1) {
    const key = await client.randomKey()
    if (key !== null) sample.push((await client.memoryUsage(String(key))) ?? 0)
  }
  await client.close()
  return Math.round(sample.reduce((sum, bytes) => sum + bytes, 0) / Math.max(1, sample.length))
}
