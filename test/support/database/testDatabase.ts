import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import { PrismaClient } from '../../../generated/prisma/client.js'
import { adapterOf } from '../adapterOf.js'
import { disconnect } from '../prismaVersion.js'
import { runSql } from './runSql.js'

/** A row of `idempotency_keys`, as the database has it. */
export interface KeyRow {
  key: string
  scope: string
  procedure: string
  fingerprint: Buffer
  status: string
  result: string | null
  result_kind: string | null
  fence: number
  on_unknown: string | null
  attempts: number
  claimed_at: Date
  lease_expires_at: Date | null
  settled_at: Date | null
}

export interface TestDatabase {
  url: string
  /** The same past any pooler: for a test of what belongs to a session, and for nothing else. */
  directUrl: string
  /** A client of the application, with a pool of `max` connections. */
  prisma: PrismaClient
  /** The database seen past the library and past Prisma. */
  query<Row = Record<string, unknown>>(sql: string, parameters?: unknown[]): Promise<Row[]>
  /** A session of its own; release it. */
  connect(): Promise<pg.PoolClient>
  keys(): Promise<KeyRow[]>
  orders(): Promise<{ customer: string; item: string; cents: number }[]>
  /** Counts a run of a handler outside of its transaction, so that a rollback does not hide it. */
  countRun(label: string): Promise<void>
  runs(label: string): Promise<number>
}

/** Gives a test file a database of its own: a copy of the migrated template, dropped at the end. */
export function useDatabase({ poolSize = 20 } = {}): TestDatabase {
  const database = {} as TestDatabase
  const name = `idempotency_test_${randomBytes(6).toString('hex')}`
  const { maintenanceUrl, templateUrl, url: anyUrl } = inject('database')
  let pool: pg.Pool

  beforeAll(async () => {
    const template = new URL(templateUrl).pathname.slice(1)
    await runSql(maintenanceUrl, `create database "${name}" template "${template}"`)
    const [url, directUrl] = [new URL(anyUrl), new URL(maintenanceUrl)]
    url.pathname = `/${name}`
    directUrl.pathname = `/${name}`
    pool = new pg.Pool({ connectionString: url.href, max: 5 })
    pool.on('error', () => undefined) // an idle connection that a test's own restart of Postgres ends
    const query: TestDatabase['query'] = async <Row>(sql: string, parameters: unknown[] = []) =>
      (await pool.query(sql, parameters)).rows as Row[]
    Object.assign(database, {
      url: url.href,
      directUrl: directUrl.href,
      prisma: new PrismaClient({ adapter: adapterOf({ connectionString: url.href, max: poolSize }) }),
      query,
      connect: () => pool.connect(),
      keys: () => query('select * from idempotency_keys order by key, scope'),
      orders: () => query('select customer, item, cents from orders order by id'),
      async countRun(label: string) {
        await query('insert into test_runs (label) values ($1)', [label])
      },
      async runs(label: string) {
        const [row] = await query<{ n: number }>('select count(*)::int as n from test_runs where label = $1', [label])
        return row?.n ?? 0
      },
    } satisfies TestDatabase)
  })

  afterAll(async () => {
    if (database.prisma !== undefined) await disconnect(database.prisma)
    await pool?.end()
    await runSql(maintenanceUrl, `drop database if exists "${name}" with (force)`)
  })

  return database
}
