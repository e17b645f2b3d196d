import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, inject } from 'vitest'
import { type Prisma, PrismaClient } from '../../../generated/prisma/client.js'
import { prismaDatabase } from '../../../server/store/prisma.js'
import { type Tables, tablesIn } from '../../../server/store/sql/tables.js'
import type { SqlDatabase } from '../../../server/store/sqlDatabase.js'
import { type TestDatabase, useDatabase } from '../database/testDatabase.js'
import { disconnect } from '../prismaVersion.js'

/** The database that the contract is tried on, and a look at its tables past the store. */
export interface StoreDatabase {
  sql: SqlDatabase<Prisma.TransactionClient>
  /** As the library's option of that name. */
  schema: string | undefined
  tables: Tables
  query: TestDatabase['query']
  connect: TestDatabase['connect']
}

/** Gives a test file the tables, as the migration left them at the beginning of each test. */
export function useStore(): StoreDatabase {
  const given = inject('store')
  const store = {} as StoreDatabase
  if (given === null) useOwnDatabase(store)
  else useGivenDatabase(store, given)
  beforeEach(async () => {
    await store.query(`delete from ${store.tables.recoveryPoints}`)
    await store.query(`delete from ${store.tables.keys}`)
    await store.query(`delete from ${store.tables.watermark}`)
    await store.query(
      `insert into ${store.tables.watermark} (id, key, raised_at)
      values (1, '00000000-0000-7000-8000-000000000000', '-infinity')`,
    )
  })
  return store
}

function useOwnDatabase(store: StoreDatabase): void {
  const db = useDatabase()
  beforeAll(() => {
    const { query, connect } = db
    Object.assign(store, { sql: prismaDatabase(db.prisma), schema: undefined, tables: tablesIn(undefined) })
    Object.assign(store, { query, connect })
  })
}

function useGivenDatabase(store: StoreDatabase, { url, schema }: { url: string; schema: string }): void {
  let pool: pg.Pool
  let prisma: PrismaClient
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: url, max: 5 })
    prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 20 }, { schema }) })
    const query: StoreDatabase['query'] = async <Row>(sql: string, parameters: unknown[] = []) =>
      (await pool.query(sql, parameters)).rows as Row[]
    const connect = () => pool.connect()
    Object.assign(store, { sql: prismaDatabase(prisma), schema, tables: tablesIn(schema), query, connect })
  })
  afterAll(async () => {
    await disconnect(prisma)
    await pool.end()
  })
}
