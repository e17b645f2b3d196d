import { sameFingerprint } from './fingerprint.js'
import type { Fingerprint, Lookup, StoredResult } from './record.js'

/** What an attempt in transaction mode does with what the table knows. */
export type Decision =
  | { action: 'claim' }
  | { action: 'claim released' }
  | { action: 'replay'; result: StoredResult }
  | { action: 'refuse'; reason: 'KEY_REUSED' | 'KEY_TOO_OLD' | 'KEY_FROM_FUTURE' | 'ABANDONED' }
  | { action: 'refuse'; reason: 'IN_FLIGHT'; retryAfterMs: number }

/** Decides for transaction mode. A row that is there answers, whatever its age. */
export function decide(found: Lookup, fingerprint: Fingerprint): Decision {
  if (found.status === 'absent') return decideByAge(found.age)
  // Before anything else is said about the row: it may be another operation's.
  if (!sameFingerprint(found.fingerprint, fingerprint)) return { action: 'refuse', reason: 'KEY_REUSED' }
  switch (found.status) {
    case 'settled':
      return { action: 'replay', result: found.result }
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

function decideByAge(age: 'young' | 'too old' | 'from the future'): Decision {
  switch (age) {
    case 'young':
      return { action: 'claim' }
    case 'too old':
      return { action: 'refuse', reason: 'KEY_TOO_OLD' }
    case 'from the future':
      return { action: 'refuse', reason: 'KEY_FROM_FUTURE' }
  }
}
