import type { Age, Fence, Lookup, Operation } from '../engine/record.js'
import type { KeyStore, KeyTransaction, TransactionBounds } from './keyStore.js'
import { type ClaimRow, claim } from './sql/claim.js'
import { type ReadRow, read } from './sql/read.js'
import { type SettleRow, settle } from './sql/settle.js'
import { tablesIn } from './sql/tables.js'
import type { RunSql, SqlDatabase, SqlParameter } from './sqlDatabase.js'

export interface SqlStoreSettings {
  schema: string | undefined
  retentionMs: number
  skewMs: number
}

/** The fence of a first claim. Transaction mode knows no other: its claims vanish with their transaction. */
const FIRST_FENCE = 1 as Fence

/** `lock_not_available`: the claim's lock_timeout ran out. */
const LOCK_NOT_AVAILABLE = '55P03'

/** By how much the database outlasts Prisma's timeout, which gives the better error where the process is alive. */
const IDLE_MARGIN_MS = 1000

/** Keeps keys in three tables of a Postgres database. */
export function sqlStore<Tx>(database: SqlDatabase<Tx>, settings: SqlStoreSettings): KeyStore<Tx> {
  const tables = tablesIn(settings.schema)
  const statements = { claim: claim(tables), read: read(tables), settle: settle(tables) }

  const identifying = ({ key, scope, birth }: Operation): SqlParameter[] => [
    key,
    scope,
    BigInt(birth),
    BigInt(settings.retentionMs),
    BigInt(settings.skewMs),
  ]

  const readWith = async (run: RunSql, operation: Operation): Promise<Lookup> => {
    const [row] = await run<ReadRow>(statements.read, identifying(operation))
    if (row === undefined) throw new Error('the read of an idempotency key gave no row')
    return lookup(row)
  }

  const transactionOn = (run: RunSql, tx: Tx, bounds: TransactionBounds): KeyTransaction<Tx> => ({
    tx,
    async claim(operation, attempt) {
      let row: ClaimRow | undefined
      try {
        const rows = await run<ClaimRow>(statements.claim, [
          ...identifying(operation),
          operation.procedure,
          operation.fingerprint,
          attempt,
          String(bounds.claimWaitMs),
          String(bounds.timeoutMs),
          String(bounds.timeoutMs + IDLE_MARGIN_MS),
        ])
        row = rows[0]
      } catch (error) {
        if (database.sqlStateOf(error) === LOCK_NOT_AVAILABLE) return { kind: 'blocked' }
        throw error
      }
      if (row !== undefined) return { kind: 'won', fence: FIRST_FENCE, identity: row }
      // Only a later statement sees the row that this one waited for: its snapshot is as old as its start.
      return { kind: 'lost', found: await readWith(run, operation) }
    },
    async settle(operation, fence, result) {
      const [row] = await run<SettleRow>(statements.settle, [operation.key, operation.scope, fence, result])
      if (row !== undefined) return { kind: 'settled', identity: row }
      const found = await readWith(run, operation)
      return { kind: found.status === 'in flight' ? 'too old' : 'lost' }
    },
  })

  return {
    read: (operation) => readWith(database.run, operation),
    transaction: (bounds, body) => database.transaction(bounds, (run, tx) => body(transactionOn(run, tx, bounds))),
  }
}

function lookup(row: ReadRow): Lookup {
  const { status, fingerprint } = row
  if (status === null || fingerprint === null) return { status: 'absent', age: row.age as Age }
  if (status === 'in_flight')
    return { status: 'in flight', fingerprint, leaseLeftMs: Math.ceil(row.lease_left_ms ?? 0) }
  if (status === 'released') return { status: 'released', fingerprint }
  if (status === 'settled' && row.result_kind === 'value') return { status: 'settled', fingerprint, result: row.result }
  throw new Error(`an idempotency key is ${status} with a ${row.result_kind}, which this version cannot replay`)
}
