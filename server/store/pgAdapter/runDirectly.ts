import type { RunSql } from '../sqlDatabase.js'
import { statementName } from './statementName.js'
import { fromWire, toWire } from './values.js'

/** The part of node-postgres' pool that is called. */
export interface PgPool {
  query(query: object): Promise<{ rows: unknown[] }>
  readonly ending?: boolean
}

/** Runs single statements on a pool, past Prisma's runtime. */
export function runDirectly(pool: PgPool, { prepare }: { prepare: boolean }): RunSql {
  return async <Row>(sql: string, parameters: Parameters<RunSql>[1]) => {
    const query = { text: sql, values: parameters.map(toWire), types: { getTypeParser } }
    const { rows } = await pool.query(prepare ? { ...query, name: statementName(sql) } : query)
    return rows as Row[]
  }
}

function getTypeParser(type: number) {
  return (text: string) => fromWire(type, text)
}
