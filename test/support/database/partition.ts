import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { runSql } from './runSql.js'

const SCRIPT = path.resolve(import.meta.dirname, '../../../prisma/partitioning/partition.sql')
const HOUR = 3_600_000

/** Partitions the table of keys by the script that we publish. */
export async function partition(url: string): Promise<void> {
  await runSql(url, await readFile(SCRIPT, 'utf8'))
}

/** A partition for the births from one time until another, in ms since 1970. */
export interface Part {
  name: string
  fromMs: number
  toMs: number
}

/** The same for an empty table, with partitions of one's own in place of the one of all rows that were there. */
export async function partitionInto(url: string, parts: readonly Part[]): Promise<void> {
  await partition(url)
  const made = parts.map(
    ({ name, fromMs, toMs }) =>
      `create table ${name} partition of idempotency_keys for values from ('${spelt(fromMs)}') to ('${spelt(toMs)}') with (fillfactor = 70);`,
  )
  await runSql(
    url,
    `alter table idempotency_keys detach partition idempotency_keys_before;
    drop table idempotency_keys_before;
    ${made.join('\n')}`,
  )
}

/** 40 of three hours each. */
export async function partitionFinely(url: string): Promise<void> {
  const present = Math.floor(Date.now() / (3 * HOUR)) * 3 * HOUR
  const from = (at: number) => present + (at - 30) * 3 * HOUR
  const parts = Array.from({ length: 40 }, (_, at) => ({
    name: `idempotency_keys_part_${at}`,
    fromMs: from(at),
    toMs: from(at + 1),
  }))
  await partitionInto(url, parts)
}

/** The time of a birth, as keys begin with it. */
function spelt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}`
}
