import type { Fence, Lookup, Operation, ScopedKey } from '../engine/record.js'
import { boundParameters } from './boundParameters.js'
import { guard } from './guard.js'
import { idleWatches } from './idleWatch.js'
import type { Claim, KeyStore, KeyTransaction, TransactionBounds } from './keyStore.js'
import { lookup } from './lookup.js'
import type { Seal } from './seal.js'
import { type ClaimRow, claim } from './sql/claim.js'
import { claimReleased } from './sql/claimReleased.js'
import { type IdentityRow, identity } from './sql/identity.js'
import { type ReadRow, read } from './sql/read.js'
import { removeEscaped } from './sql/removeEscaped.js'
import { type SettleRow, settle } from './sql/settle.js'
import { tablesIn } from './sql/tables.js'
import { markWork, undoWork } from './sql/workSavepoint.js'
import type { RunSql, SqlDatabase, SqlParameter } from './sqlDatabase.js'
import { storedOutcome } from './storedOutcome.js'

export interface SqlStoreSettings {
  schema: string | undefined
  retentionMs: number
  skewMs: number
  seal: Seal
}

/** The fence of a first claim. */
const FIRST_FENCE = 1 as Fence

export const LATE_USE =
  'ctx.tx was used after the handler had returned. Await every query in the handler; for what comes later use a client of your own.'

/** Keeps keys in three tables of a Postgres database. */
export function sqlStore<Tx extends object>(database: SqlDatabase<Tx>, settings: SqlStoreSettings): KeyStore<Tx> {
  const { seal } = settings
  const tables = tablesIn(settings.schema)
  const statements = {
    claim: claim(tables),
    claimReleased: claimReleased(tables),
    read: read(tables),
    removeEscaped: removeEscaped(tables),
    settle: settle(tables),
  }

  const watchOf = idleWatches()

  const named = (name: ScopedKey): SqlParameter[] => [seal(name).key, name.scope]

  const identifying = (name: ScopedKey): SqlParameter[] => [
    ...named(name),
    BigInt(name.birth),
    BigInt(settings.retentionMs),
    BigInt(settings.skewMs),
  ]

  const readWith = async (run: RunSql, name: ScopedKey): Promise<Lookup> => {
    const [row] = await run<ReadRow>(statements.read, identifying(name))
    if (row === undefined) throw new Error('the read of an idempotency key gave no row')
    return lookup(row, seal(name))
  }

  const claimBy = async (
    run: RunSql,
    operation: Operation,
    by: { statement: string; parameters: SqlParameter[] },
  ): Promise<Claim> => {
    try {
      const [row] = await run<ClaimRow>(by.statement, by.parameters)
      if (row !== undefined) return { kind: 'won', fence: row.fence as Fence, identity: row }
    } catch (error) {
      const fault = database.faultOf(error)
      // Timed out: by the application's own statement_timeout, where that is shorter.
      if (fault !== 'blocked' && fault !== 'timed out') throw error
      return { kind: 'blocked' }
    }
    // Only a later statement sees the row that this one waited for: its snapshot is as old as its start.
    return { kind: 'lost', found: await readWith(run, operation) }
  }

  const transactionOn = (run: RunSql, tx: Tx, bounds: TransactionBounds): KeyTransaction<Tx> => {
    const guarded = guard(tx, LATE_USE)
    const timeouts = boundParameters(bounds)
    return {
      tx: guarded.client,
      within(procedure, handler) {
        const idle = watchOf?.(procedure, bounds.idleWarningMs)
        return guarded.within({ procedure, attemptOutcome: 'NOT_EXECUTED', idle }, handler)
      },
      closeTx: guarded.close,
      claim: (operation, attempt) =>
        claimBy(run, operation, {
          statement: statements.claim,
          parameters: [...identifying(operation), operation.procedure, operation.fingerprint, attempt, ...timeouts],
        }),
      claimReleased: (operation) =>
        claimBy(run, operation, {
          statement: statements.claimReleased,
          parameters: [...named(operation), operation.fingerprint, ...timeouts],
        }),
      async holds(operation, { identity: claimed }) {
        const [here] = await run<IdentityRow>(identity, [])
        if (here?.backend !== claimed.backend || here.transaction !== claimed.transaction) return false
        const row = { key: seal(operation).key, scope: operation.scope }
        return (await database.seesOwnRow(tx, row)) !== false
      },
      async markWork() {
        await run(markWork, [])
      },
      async undoWork() {
        await run(undoWork, [])
      },
      async settle(operation, fence, outcome) {
        const parameters = [...named(operation), fence, ...storedOutcome(outcome, seal(operation))]
        const [row] = await run<SettleRow>(statements.settle, parameters)
        if (row !== undefined) return { kind: 'settled', identity: row }
        const found = await readWith(run, operation)
        return { kind: found.status === 'in flight' ? 'too old' : 'lost' }
      },
    }
  }

  return {
    read: (name) => readWith(database.run, name),
    transaction: (bounds, body) => database.transaction(bounds, (run, tx) => body(transactionOn(run, tx, bounds))),
    async removeEscaped(operation) {
      await database.run(statements.removeEscaped, [...named(operation), FIRST_FENCE])
    },
    faultOf: database.faultOf,
  }
}
