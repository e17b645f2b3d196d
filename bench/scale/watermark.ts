import pg from 'pg'
import { keyOf } from './rows.js'

/** Raises the watermark of a database to births of an age, as if a sweep had done it a margin ago. */
export async function raiseWatermark(url: string, ageMs: number): Promise<void> {
  const key = keyOf(`(extract(epoch from now()) * 1000)::bigint - ${Math.round(ageMs)}`, `repeat('0', 32)`)
  await queryOnce(url, `update idempotency_watermark set key = ${key}, raised_at = now() - interval '1 hour'`)
}

export async function queryOnce<Row = Record<string, unknown>>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}
