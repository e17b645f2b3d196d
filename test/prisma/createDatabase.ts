import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { runSql } from '../support/database/runSql.js'

export interface CreatedDatabase {
  /** Past any pooler: Prisma's CLI migrates under a lock of its session. */
  url: string
  /** The one that an application would use. */
  pooledUrl: string
  query<Row = Record<string, unknown>>(sql: string): Promise<Row[]>
  drop(): Promise<void>
}

/**
 * Creates a database without any tables on the server of the run, where `useDatabase` would give the migrated ones.
 *
 * @param template a database to copy instead; nobody may be connected to it
 */
export async function createDatabase(template?: CreatedDatabase): Promise<CreatedDatabase> {
  const { maintenanceUrl, url: anyUrl } = inject('database')
  const name = `idempotency_test_${randomBytes(6).toString('hex')}`
  const source = template === undefined ? 'template0' : new URL(template.url).pathname.slice(1)
  await runSql(maintenanceUrl, `create database "${name}" template "${source}"`)
  const [url, pooledUrl] = [new URL(maintenanceUrl), new URL(anyUrl)]
  url.pathname = `/${name}`
  pooledUrl.pathname = `/${name}`
  return {
    url: url.href,
    pooledUrl: pooledUrl.href,
    query: (sql) => runSql(url.href, sql),
    async drop() {
      await runSql(maintenanceUrl, `drop database if exists "${name}" with (force)`)
    },
  }
}
