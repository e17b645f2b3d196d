import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import type { KeyStore } from '../../server/store/keyStore.js'
import type { LeaseStore } from '../../server/store/leaseStore.js'
import type { Partitioner } from '../../server/store/partitions/partitioner.js'
import { sqlPartitioner } from '../../server/store/partitions/sqlPartitioner.js'
import { prismaDatabase } from '../../server/store/prisma.js'
import { tablesIn } from '../../server/store/sql/tables.js'
import { createDatabase } from '../prisma/createDatabase.js'
import { partitionInto } from './database/partition.js'
import { HOUR, RETENTION_MS, storesOn } from './store/contract.js'
import type { StoreDatabase } from './store/useStore.js'

type Tx = Parameters<Parameters<StoreDatabase['sql']['transaction']>[1]>[0]['tx']

export interface PartitionedDatabase extends StoreDatabase {
  url: string
  prisma: PrismaClient
  keys: KeyStore<Tx>
  leases: LeaseStore<Tx>
  /** What `maintainPartitions` takes; with a retention of so many hours. */
  partitioned(hours?: number): { partitioner: Partitioner }
  /** As if the watermark had been raised two minutes earlier: a margin is one. */
  marginPasses(): Promise<void>
  /** Names of the partitions with the keys that they hold, those of none left out. */
  contents(): Promise<Record<string, string[]>>
  names(): Promise<string[]>
}

/** A migrated database of a test's own, whose table of keys is not partitioned yet. */
export async function migratedDatabase(): Promise<PartitionedDatabase> {
  const template = { url: inject('database').templateUrl } as Parameters<typeof createDatabase>[0]
  const { url, drop } = await createDatabase(template)
  const pool = new pg.Pool({ connectionString: url, max: 5 })
  pool.on('error', () => undefined) // the database is dropped with its sessions
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 20 }) })
  onTestFinished(async () => {
    await prisma.$disconnect()
    await pool.end()
    await drop()
  })
  const query: StoreDatabase['query'] = async <Row>(sql: string, parameters: unknown[] = []) =>
    (await pool.query(sql, parameters)).rows as Row[]
  const sql = prismaDatabase(prisma)
  const store: StoreDatabase = {
    sql,
    schema: undefined,
    tables: tablesIn(undefined),
    query,
    async connect() {
      const session = await pool.connect()
      // Its transaction may be open where the test failed.
      onTestFinished(() => session.release(true))
      return session
    },
  }
  return {
    ...store,
    ...storesOn(store),
    url,
    prisma,
    partitioned: (hours = RETENTION_MS / HOUR) => ({
      partitioner: sqlPartitioner(sql, { schema: undefined, retentionMs: hours * HOUR }),
    }),
    async marginPasses() {
      await query(`update idempotency_watermark set raised_at = raised_at - interval '2 minutes'`)
    },
    async contents() {
      const rows = await query<{ name: string; keys: string[] }>(
        `select tableoid::regclass::text as name, array_agg(key order by key) as keys
        from idempotency_keys group by tableoid`,
      )
      return Object.fromEntries(rows.map(({ name, keys }) => [name, keys]))
    },
    async names() {
      const rows = await query<{ name: string }>(
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'idempotency_keys'::regclass order by 1`,
      )
      return rows.map(({ name }) => name)
    },
  }
}

/** The same partitioned, with a partition for each hour of the last ten, such as `hour_5` for births five hours ago. */
export async function partitionedDatabase(): Promise<PartitionedDatabase> {
  const database = await migratedDatabase()
  const now = Date.now()
  const from = (age: number) => now - HOUR / 2 - age * HOUR
  const parts = Array.from({ length: 11 }, (_, age) => ({
    name: `hour_${age}`,
    fromMs: from(age),
    toMs: from(age - 1),
  }))
  await partitionInto(database.url, parts)
  return database
}
