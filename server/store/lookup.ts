import type { Age, Fence, Lookup, Outcome, Tombstone, Unreadable } from '../engine/record.js'
import type { Sealed } from './seal.js'
import type { ReadRow } from './sql/read.js'
import type { SettledRow } from './sql/readSettled.js'

/** What a row says, in the words of the engine. */
export function lookup(row: ReadRow, sealed: Pick<Sealed, 'open'>): Lookup {
  const { status, fingerprint } = row
  if (status === null || fingerprint === null) {
    return { status: 'absent', age: row.age as Age, nowMs: row.now_ms, youngInMs: row.young_in_ms }
  }
  const fence = row.fence as Fence
  switch (status) {
    case 'in_flight': {
      const leaseLeftMs = Math.max(0, Math.ceil(row.lease_left_ms ?? 0))
      return {
        status: 'in flight',
        fingerprint,
        fence,
        leaseLeftMs,
        onUnknown: row.on_unknown === 'retry' ? 'retry' : 'manual',
      }
    }
    case 'released':
      return { status: 'released', fingerprint, fence, hasRecoveryPoints: row.has_recovery_points }
    case 'settled':
      return settledLookup({ ...row, fingerprint, fence }, sealed)
  }
  throw new Error(`an idempotency key has the status ${status}, which this version does not know`)
}

/** The same for a row that is settled. */
export function settledLookup(row: SettledRow, sealed: Pick<Sealed, 'open'>): Lookup {
  return {
    status: 'settled',
    fingerprint: row.fingerprint,
    fence: row.fence as Fence,
    outcome: outcome(row, sealed),
  }
}

function outcome(
  { result, result_kind: kind }: Pick<SettledRow, 'result' | 'result_kind'>,
  { open }: Pick<Sealed, 'open'>,
): Outcome | Unreadable {
  if (kind === 'tombstone') return isTombstone(result) ? { kind, reason: result } : { kind: 'unreadable' }
  if (kind !== 'value' && kind !== 'error') return { kind: 'unreadable' }
  const opened = open(kind, result)
  if (opened === undefined) return { kind: 'unreadable' }
  if (kind === 'value') return { kind, result: opened.text }
  return opened.text === null ? { kind: 'unreadable' } : { kind, shape: opened.text }
}

/** As a table, so that the compiler finds the one that is missing here. */
const TOMBSTONES: Record<Tombstone, true> = {
  RESULT_NOT_STORABLE: true,
  RESULT_TOO_LARGE: true,
  RESULT_ERASED: true,
  OUTCOME_ERASED: true,
}

function isTombstone(result: string | null): result is Tombstone {
  return result !== null && Object.hasOwn(TOMBSTONES, result)
}
