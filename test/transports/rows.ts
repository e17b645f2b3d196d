import type { Serializer } from 'trpc-idempotency/server'
import type { TestDatabase } from '../support/database/testDatabase.js'
import { KEYS, type Keys } from './script.js'

/** All that the script left in the database, without times, and with its keys by their names. */
export async function rowsOf(db: TestDatabase, keys: Keys, transformer: Serializer | undefined) {
  const names = new Map(KEYS.map((name) => [keys[name], name as string]))
  const nameOf = (key: string) => names.get(key) ?? key
  const fromText = (text: string | null): unknown => {
    if (text === null) return undefined
    const read: unknown = JSON.parse(text)
    return transformer === undefined ? read : transformer.deserialize(read)
  }
  const points = await db.query<{ key: string; name: string; result: string | null; fence: number }>(
    'select key, scope, name, result, fence from idempotency_recovery_points order by key, scope, name',
  )
  const runs = await db.query<{ label: string; n: number }>(
    'select label, count(*)::int as n from test_runs group by label',
  )
  return {
    orders: await db.query('select customer, item, cents from orders order by item, customer'),
    keys: (await db.keys()).map(({ fingerprint: _, claimed_at: __, lease_expires_at: ___, settled_at, ...row }) => ({
      ...row,
      key: nameOf(row.key),
      result: fromText(row.result),
      settled: settled_at !== null,
    })),
    points: points.map(({ key, result, ...row }) => ({ ...row, key: nameOf(key), result: fromText(result) })),
    runs: Object.fromEntries(runs.map(({ label, n }) => [label.replace(/\S+$/, nameOf), n])),
  }
}

/** Forgets all that a script before this one left. */
export async function clear(db: TestDatabase): Promise<void> {
  await db.query('truncate orders, idempotency_keys, idempotency_recovery_points, test_runs')
}
