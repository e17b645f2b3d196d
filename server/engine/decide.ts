import { isComparable, sameFingerprint } from './fingerprint.js'
import type { Fingerprint, Lookup, Outcome, Unreadable } from './record.js'

/** What an attempt in transaction mode does with what the table knows. */
export type Decision =
  | { action: 'claim' }
  | { action: 'claim released' }
  | { action: 'replay'; outcome: Outcome }
  | { action: 'refuse'; reason: 'KEY_REUSED' | 'ABANDONED' }
  | { action: 'refuse'; reason: 'IN_FLIGHT'; retryAfterMs: number }
  | NotReadable
  | RefusedAge

/** Decides for transaction mode. A row that is there answers, whatever its age. */
export function decide(found: Lookup, fingerprint: Fingerprint): Decision {
  if (found.status === 'absent') return decideByAge(found)
  // Before anything else is said about the row: it may be another operation's.
  const other = otherOperation(found.fingerprint, fingerprint)
  if (other !== undefined) return other
  switch (found.status) {
    case 'settled':
      return answerFrom(found.outcome)
    // Only lease mode leaves such rows for others to see: the procedure's mode changed between two deploys. What its
    // holder did outside the database is not ours to judge, so such a row is never taken over.
    case 'in flight':
      return found.leaseLeftMs > 0
        ? { action: 'refuse', reason: 'IN_FLIGHT', retryAfterMs: found.leaseLeftMs }
        : { action: 'refuse', reason: 'ABANDONED' }
    // Without recovery points nothing happened outside the database that a transaction would have to know of.
    case 'released':
      return found.hasRecoveryPoints ? { action: 'refuse', reason: 'ABANDONED' } : { action: 'claim released' }
  }
}

/** What an attempt in lease mode does with what the table knows. */
export type LeaseDecision =
  | { action: 'claim' }
  | { action: 'take over' }
  | { action: 'replay'; outcome: Outcome }
  /** Somebody holds the lease; for so long at the least. */
  | { action: 'wait'; leaseLeftMs: number }
  | { action: 'refuse'; reason: 'KEY_REUSED' | 'ABANDONED' }
  | NotReadable
  | RefusedAge

/** Decides for lease mode. The policy that counts for an abandoned row is that of its claim, not that of this caller. */
export function decideLease(found: Lookup, fingerprint: Fingerprint): LeaseDecision {
  if (found.status === 'absent') return decideByAge(found)
  const other = otherOperation(found.fingerprint, fingerprint)
  if (other !== undefined) return other
  switch (found.status) {
    case 'settled':
      return answerFrom(found.outcome)
    case 'in flight':
      if (found.leaseLeftMs > 0) return { action: 'wait', leaseLeftMs: found.leaseLeftMs }
      return found.onUnknown === 'manual' ? { action: 'refuse', reason: 'ABANDONED' } : { action: 'take over' }
    case 'released':
      return { action: 'take over' }
  }
}

/** A row that answers nothing, and is not to be run again either. */
interface NotReadable {
  action: 'refuse'
  reason: 'RESULT_NOT_READABLE'
  attemptOutcome: 'EXECUTED' | 'UNKNOWN'
}

/** Where a row is not known to be this operation's. */
function otherOperation(
  found: Uint8Array,
  fingerprint: Fingerprint,
): { action: 'refuse'; reason: 'KEY_REUSED' } | NotReadable | undefined {
  // Neither a repeat nor a reuse that anybody could tell.
  if (!isComparable(found)) return { action: 'refuse', reason: 'RESULT_NOT_READABLE', attemptOutcome: 'UNKNOWN' }
  return sameFingerprint(found, fingerprint) ? undefined : { action: 'refuse', reason: 'KEY_REUSED' }
}

function answerFrom(outcome: Outcome | Unreadable): { action: 'replay'; outcome: Outcome } | NotReadable {
  if (outcome.kind !== 'unreadable') return { action: 'replay', outcome }
  return { action: 'refuse', reason: 'RESULT_NOT_READABLE', attemptOutcome: 'EXECUTED' }
}

/** A key that is not of an age to be claimed, with what the maker of a better one has to know. */
type RefusedAge =
  | { action: 'refuse'; reason: 'KEY_TOO_OLD'; serverTimeMs: number }
  | { action: 'refuse'; reason: 'KEY_FROM_FUTURE'; serverTimeMs: number; retryAfterMs: number }

function decideByAge({
  age,
  nowMs,
  youngInMs,
}: Extract<Lookup, { status: 'absent' }>): { action: 'claim' } | RefusedAge {
  switch (age) {
    case 'young':
      return { action: 'claim' }
    case 'too old':
      return { action: 'refuse', reason: 'KEY_TOO_OLD', serverTimeMs: nowMs }
    case 'from the future':
      return { action: 'refuse', reason: 'KEY_FROM_FUTURE', serverTimeMs: nowMs, retryAfterMs: youngInMs }
  }
}
