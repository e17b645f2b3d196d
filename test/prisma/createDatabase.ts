import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'

export interface CreatedDatabase {
  url: string
  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]>
  drop(): Promise<void>
}

/**
 * Creates a database without any tables on the server of the run, where `useDatabase` would give the migrated ones.
 *
 * @param template a database to copy instead; nobody may be connected to it
 */
export async function createDatabase(template?: CreatedDatabase): Promise<CreatedDatabase> {
  const { maintenanceUrl } = inject('database')
  const name = `idempotency_test_${randomBytes(6).toString('hex')}`
  const source = template === undefined ? 'template0' : new URL(template.url).pathname.slice(1)
  await query(maintenanceUrl, `create database "${name}" template "${source}"`)
  const url = new URL(maintenanceUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    query: (sql) => query(url.href, sql),
    async drop() {
      await query(maintenanceUrl, `drop database if exists "${name}" with (force)`)
    },
  }
}

async function query<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}
