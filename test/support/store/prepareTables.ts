import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { runSql } from '../database/runSql.js'

/** Why the contract was not tried; for a person to read. */
export class NoContract extends Error {
  override readonly name = 'NoContract'
}

export interface PreparedTables {
  schema: string
  /** What the server calls itself. */
  version: string
  remove(): Promise<void>
}

const TABLES = ['idempotency_keys', 'idempotency_recovery_points', 'idempotency_watermark']

/**
 * Makes the tables, or finds those that are there.
 *
 * @throws NoContract
 */
export async function prepareTables(url: string, prepared: boolean): Promise<PreparedTables> {
  const version = await versionOf(url)
  if (prepared) return { schema: await schemaOfEmptyTables(url), version, remove: () => empty(url) }
  const schema = `idempotency_contract_${randomBytes(4).toString('hex')}`
  const remove = async () => {
    await runSql(url, `drop schema if exists "${schema}" cascade`)
  }
  try {
    await runSql(url, `create schema "${schema}"`)
    // `local`: behind a pooler the session is somebody else's next.
    await runSql(url, `begin; set local search_path to "${schema}"; ${migration()}; commit`)
  } catch (error) {
    await remove()
    throw new NoContract(
      `The tables could not be made (${said(error)}). Make them in a way that this database knows, and say --prepared.`,
    )
  }
  return { schema, version, remove }
}

async function versionOf(url: string): Promise<string> {
  try {
    const [row] = await runSql<{ version: string }>(url, 'select version()')
    return row?.version ?? 'an unnamed version'
  } catch (error) {
    const { host, pathname } = new URL(url)
    throw new NoContract(`The database ${pathname.slice(1)} at ${host} cannot be reached (${said(error)}).`)
  }
}

/** The contract deletes rows and moves the watermark: never among keys that somebody relies on. */
async function schemaOfEmptyTables(url: string): Promise<string> {
  const [row] = await runSql<{ schema: string }>(url, 'select current_schema()::text as schema')
  for (const table of TABLES) {
    let rows: { n: number }[]
    try {
      rows = await runSql<{ n: number }>(url, `select count(*)::int as n from "${table}"`)
    } catch (error) {
      throw new NoContract(`--prepared: the table ${table} cannot be read (${said(error)}).`)
    }
    if (table !== 'idempotency_watermark' && rows[0]?.n !== 0) {
      throw new NoContract(`--prepared: the table ${table} has rows. Give it tables that nobody uses.`)
    }
  }
  return row?.schema ?? 'public'
}

async function empty(url: string): Promise<void> {
  for (const table of TABLES.slice(0, 2).reverse()) await runSql(url, `delete from "${table}"`)
}

/** Of the library's own tables; those of the examples are not needed. */
function migration(): string {
  const folder = path.resolve(import.meta.dirname, '../../../prisma/migrations')
  const own = readdirSync(folder).filter((name) => name.endsWith('_idempotency'))
  return own
    .sort()
    .map((name) => readFileSync(path.join(folder, name, 'migration.sql'), 'utf8'))
    .join('\n')
}

function said(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string }
  return [code, message].filter((part) => part !== undefined && part !== '').join(': ')
}
