import type { Fence, Lookup, Operation, Outcome, ScopedKey } from '../engine/record.js'
import { boundParameters } from './boundParameters.js'
import { guard } from './guard.js'
import { idleWatches } from './idleWatch.js'
import {
  type Claim,
  type KeyStore,
  type KeyTransaction,
  NotCommitted,
  type NotSettled,
  type Opening,
  type Settle,
  type TransactionBounds,
} from './keyStore.js'
import { lookup, settledLookup } from './lookup.js'
import type { Seal } from './seal.js'
import { type ClaimRow, claim } from './sql/claim.js'
import { claimReleased } from './sql/claimReleased.js'
import { type IdentityRow, identity } from './sql/identity.js'
import { type ReadRow, read } from './sql/read.js'
import { readSettled, type SettledRow } from './sql/readSettled.js'
import { removeEscaped } from './sql/removeEscaped.js'
import { type SettleRow, settle } from './sql/settle.js'
import { NOTHING_SETTLED, settleLast } from './sql/settleLast.js'
import { tablesIn } from './sql/tables.js'
import { markWork, undoWork } from './sql/workSavepoint.js'
import {
  ClosingFailed,
  type RunSql,
  type SqlDatabase,
  type SqlParameter,
  type SqlTransaction,
  type Statement,
} from './sqlDatabase.js'
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
    readSettled: readSettled(tables),
    removeEscaped: removeEscaped(tables),
    settle: settle(tables),
    settleLast: settleLast(tables),
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

  const readSettledWith = async (run: RunSql, name: ScopedKey): Promise<Lookup | undefined> => {
    const [row] = await run<SettledRow>(statements.readSettled, named(name))
    return row && settledLookup(row, seal(name))
  }

  /** The statement of a claim. */
  const claiming = (opening: Opening, bounds: TransactionBounds): Statement => {
    const { operation } = opening
    const timeouts = boundParameters(bounds)
    if (opening.kind === 'claim released') {
      return { sql: statements.claimReleased, parameters: [...named(operation), operation.fingerprint, ...timeouts] }
    }
    const { procedure, fingerprint, birth } = operation
    const times = [(birth - settings.skewMs) / 1000, (birth + settings.retentionMs) / 1000]
    const parameters = [...named(operation), procedure, fingerprint, opening.attempt, ...times, ...timeouts]
    return { sql: statements.claim, parameters }
  }

  const claimBy = async (run: RunSql, operation: Operation, claimed: Promise<ClaimRow[]>): Promise<Claim> => {
    try {
      const [row] = await claimed
      if (row !== undefined) return { kind: 'won', fence: row.fence as Fence, identity: row }
    } catch (error) {
      const fault = database.faultOf(error)
      // Timed out: by the application's own statement_timeout, where that is shorter.
      if (fault !== 'blocked' && fault !== 'timed out') throw error
      return { kind: 'blocked' }
    }
    // Only a later statement sees the row that this one waited for: its snapshot is as old as its start.
    return { kind: 'lost', found: (await readSettledWith(run, operation)) ?? (await readWith(run, operation)) }
  }

  /** @param hint the statement of `bounds.opening`, which may have gone with BEGIN */
  const transactionOn = (
    open: SqlTransaction<Tx>,
    bounds: TransactionBounds,
    hint: Statement | undefined,
  ): KeyTransaction<Tx> => {
    const { run, tx, seen } = open
    const guarded = guard(tx, { complaint: LATE_USE, seen })
    let hinted = bounds.opening
    const claim = (opening: Opening): Promise<Claim> => {
      const hinting = isSame(opening, hinted) ? hint : undefined
      hinted = undefined
      const { sql, parameters } = hinting ?? claiming(opening, bounds)
      const opened = hinting && open.opened<ClaimRow>()
      return claimBy(run, opening.operation, opened ?? run<ClaimRow>(sql, parameters))
    }
    const settling = (operation: Operation, fence: Fence, outcome: Outcome): Statement => ({
      sql: statements.settle,
      parameters: [...named(operation), fence, ...storedOutcome(outcome, seal(operation))],
    })
    const settled = async (operation: Operation, rows: SettleRow[]): Promise<Settle> => {
      if (rows[0] !== undefined) return { kind: 'settled', identity: rows[0] }
      const found = await readWith(run, operation)
      return { kind: found.status === 'in flight' ? 'too old' : 'lost' }
    }
    return {
      tx: guarded.client,
      within(procedure, handler) {
        const idle = watchOf?.(procedure, bounds.idleWarningMs)
        return guarded.within({ procedure, attemptOutcome: 'NOT_EXECUTED', idle }, handler)
      },
      closeTx: guarded.close,
      claim: (operation, attempt) => claim({ kind: 'claim', operation, attempt }),
      claimReleased: (operation) => claim({ kind: 'claim released', operation }),
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
        const { sql, parameters } = settling(operation, fence, outcome)
        return settled(operation, await run<SettleRow>(sql, parameters))
      },
      async settleLast(operation, { fence, identity: claimed }, outcome) {
        const { sql, parameters } = settling(operation, fence, outcome)
        const last = { sql: statements.settleLast, parameters: [...parameters, claimed.transaction] }
        // What sent nothing on the claim's connection may have sent it on another one. Then the settle takes the way that
        // it took, and proves where it was.
        if (guarded.allSeen() && open.close(last)) return { kind: 'with COMMIT' }
        return settled(operation, await run<SettleRow>(sql, parameters))
      },
    }
  }

  /** Where it was rolled back for want of something to settle. A first claim is gone with that; its key's age is not. */
  const notSettled = async (operation: Operation): Promise<NotSettled> => {
    const found = await readWith(database.run, operation)
    return { kind: found.status === 'absent' && found.age === 'too old' ? 'too old' : 'lost' }
  }

  return {
    read: (name) => readWith(database.run, name),
    readSettled: (name) => readSettledWith(database.run, name),
    async transaction(bounds, body) {
      const { opening } = bounds
      const hint = opening && claiming(opening, bounds)
      try {
        return await database.transaction({ ...bounds, opening: hint }, (open) =>
          body(transactionOn(open, bounds, hint)),
        )
      } catch (error) {
        if (!(error instanceof ClosingFailed)) throw error
        const why = error.sqlState === NOTHING_SETTLED && opening !== undefined
        throw new NotCommitted(why ? await notSettled(opening.operation) : undefined, error)
      }
    },
    async removeEscaped(operation) {
      await database.run(statements.removeEscaped, [...named(operation), FIRST_FENCE])
    },
    faultOf: database.faultOf,
  }
}

function isSame(opening: Opening, hinted: Opening | undefined): boolean {
  return hinted?.kind === opening.kind && hinted.operation === opening.operation
}
