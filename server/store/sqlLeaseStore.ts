import type { Fence, ScopedKey, StoredResult } from '../engine/record.js'
import { boundParameters } from './boundParameters.js'
import { guard } from './guard.js'
import { idleWatches } from './idleWatch.js'
import type { KeyStore } from './keyStore.js'
import type { Held, LeaseClaim, LeaseStore, PointEnd } from './leaseStore.js'
import { abandon } from './sql/abandon.js'
import { type ClaimedRow, claimLease } from './sql/claimLease.js'
import type { FenceRow } from './sql/heldRow.js'
import { lockHeld } from './sql/lockHeld.js'
import { type PointRow, readPoints } from './sql/readPoints.js'
import { type RecordedRow, recordPoint } from './sql/recordPoint.js'
import { release } from './sql/release.js'
import { releaseAbandoned } from './sql/releaseAbandoned.js'
import { renew } from './sql/renew.js'
import { resolveAbandoned } from './sql/resolveAbandoned.js'
import { settleLease } from './sql/settleLease.js'
import { tablesIn } from './sql/tables.js'
import { takeOver } from './sql/takeOver.js'
import type { SqlDatabase, SqlParameter } from './sqlDatabase.js'
import { LATE_USE, type SqlStoreSettings } from './sqlStore.js'
import { storedOutcome } from './storedOutcome.js'

/** Keeps leases and recovery points in the same tables. */
export function sqlLeaseStore<Tx extends object>(
  database: SqlDatabase<Tx>,
  settings: SqlStoreSettings,
  { read }: Pick<KeyStore<Tx>, 'read'>,
): LeaseStore<Tx> {
  const { seal } = settings
  const tables = tablesIn(settings.schema)
  const statements = {
    claim: claimLease(tables),
    takeOver: takeOver(tables),
    renew: renew(tables),
    settle: settleLease(tables),
    release: release(tables),
    abandon: abandon(tables),
    points: readPoints(tables),
    lockHeld: lockHeld(tables),
    record: recordPoint(tables),
    resolveAbandoned: resolveAbandoned(tables),
    releaseAbandoned: releaseAbandoned(tables),
  }

  const watchOf = idleWatches()

  const claimBy = async (statement: string, parameters: SqlParameter[]): Promise<LeaseClaim> => {
    try {
      const [row] = await database.run<ClaimedRow>(statement, parameters)
      if (row === undefined) return { kind: 'lost' }
      return { kind: 'won', fence: row.fence as Fence, onUnknown: row.on_unknown === 'retry' ? 'retry' : 'manual' }
    } catch (error) {
      const fault = database.faultOf(error)
      if (fault !== 'blocked' && fault !== 'timed out') throw error
      return { kind: 'blocked' }
    }
  }

  const named = (name: ScopedKey): SqlParameter[] => [seal(name).key, name.scope]
  const own = ({ operation, fence }: Held): SqlParameter[] => [...named(operation), fence]
  const recording = (held: Held, name: string, result: StoredResult): SqlParameter[] => [
    ...own(held),
    name,
    seal(held.operation).close(point(name), result),
  ]

  const landed = async (statement: string, parameters: SqlParameter[]): Promise<boolean> =>
    (await database.run<FenceRow>(statement, parameters)).length > 0

  return {
    read,
    claim: (operation, attempt, { claimWaitMs, leaseMs, onUnknown }) =>
      claimBy(statements.claim, [
        ...[...named(operation), BigInt(operation.birth)],
        ...[BigInt(settings.retentionMs), BigInt(settings.skewMs)],
        ...[operation.procedure, operation.fingerprint, attempt],
        ...[String(claimWaitMs), leaseMs, onUnknown],
      ]),
    takeOver: (operation, { claimWaitMs, leaseMs, onUnknown }) =>
      claimBy(statements.takeOver, [
        ...named(operation),
        operation.fingerprint,
        String(claimWaitMs),
        leaseMs,
        onUnknown,
      ]),
    renew: (held, { claimWaitMs, leaseMs }) => landed(statements.renew, [...own(held), String(claimWaitMs), leaseMs]),
    settle: (held, outcome) =>
      landed(statements.settle, [...own(held), ...storedOutcome(outcome, seal(held.operation))]),
    release: (held) => landed(statements.release, own(held)),
    abandon: (held) => landed(statements.abandon, own(held)),
    async points(name) {
      const rows = await database.run<PointRow>(statements.points, named(name))
      const { open } = seal(name)
      return rows.map((row) => {
        const opened = open(point(row.name), row.result)
        const result = opened === undefined ? ({ kind: 'unreadable' } as const) : opened.text
        return { name: row.name, result, fence: row.fence as Fence }
      })
    },
    record: (held, name, result) => landed(statements.record, recording(held, name, result)),
    async recordWith(held, { name, bounds }, body) {
      try {
        const opening = { sql: statements.lockHeld, parameters: [...own(held), ...boundParameters(bounds)] }
        return await database.transaction({ ...bounds, opening }, async (open): Promise<PointEnd> => {
          const { run, tx, seen } = open
          const [locked] = await (open.opened<RecordedRow>() ?? run<RecordedRow>(opening.sql, opening.parameters))
          if (locked === undefined) return { kind: 'lost' }
          const guarded = guard(tx, { complaint: LATE_USE, seen })
          const { procedure } = held.operation
          const idle = watchOf?.(procedure, bounds.idleWarningMs)
          let result: string | null
          try {
            result = await guarded.within({ procedure, attemptOutcome: 'UNKNOWN', idle }, () => body(guarded.client))
          } finally {
            await guarded.close()
          }
          const [recorded] = await run<RecordedRow>(statements.record, recording(held, name, result))
          // Thrown and not returned: what `body` wrote must not commit.
          if (recorded === undefined) throw new Undo({ kind: 'known' })
          if (recorded.backend !== locked.backend || recorded.transaction !== locked.transaction) {
            throw new Undo({ kind: 'escaped' })
          }
          return { kind: 'recorded' }
        })
      } catch (error) {
        if (error instanceof Undo) return error.end
        throw error
      }
    },
    resolveAbandoned: (name, result) =>
      landed(statements.resolveAbandoned, [...named(name), seal(name).close('value', result)]),
    releaseAbandoned: (name) => landed(statements.releaseAbandoned, named(name)),
    faultOf: database.faultOf,
  }
}

/** Makes the database undo everything; it never reaches a caller. */
class Undo extends Error {
  readonly end: PointEnd
  constructor(end: PointEnd) {
    super()
    this.end = end
  }
}

/** Where a recovery point's result is stored, as its seal knows it. */
function point(name: string): string {
  return `point ${name}`
}
