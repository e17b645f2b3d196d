import type { AttemptOutcome } from './errorData.js'

/** What one reason means, on either end. */
export interface ReasonRow {
  /** tRPC's code for the error, and by it the HTTP status. */
  readonly code: string
  /** What the reason says unless the error says otherwise. */
  readonly attemptOutcome: AttemptOutcome
  /** Whether the client may send the same key again: by itself after a delay, only after a person acted, or never. */
  readonly sameKeyAgain: 'after a delay' | 'after an operator' | 'never'
}

/**
 * Every reason for which the server refuses or fails an idempotent call. The table is read before any code is: the
 * server takes the tRPC code from it, a client takes from it whether to retry.
 */
export const REASONS = {
  KEY_MISSING: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  KEY_INVALID: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  KEY_FROM_FUTURE: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  KEY_REUSED: { code: 'UNPROCESSABLE_CONTENT', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  KEY_TOO_OLD: { code: 'PRECONDITION_FAILED', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  DIGEST_INVALID: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  INPUT_INVALID: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  SCOPE_MISSING: { code: 'UNAUTHORIZED', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  IN_FLIGHT: { code: 'CONFLICT', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'after a delay' },
  LEASE_LOST: { code: 'CONFLICT', attemptOutcome: 'UNKNOWN', sameKeyAgain: 'after a delay' },
  STORE_UNAVAILABLE: { code: 'SERVICE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'after a delay' },
  ABANDONED: { code: 'CONFLICT', attemptOutcome: 'UNKNOWN', sameKeyAgain: 'after an operator' },
  RESULT_NOT_STORABLE: { code: 'INTERNAL_SERVER_ERROR', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  RESULT_TOO_LARGE: { code: 'INTERNAL_SERVER_ERROR', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
  RESULT_ERASED: { code: 'PRECONDITION_FAILED', attemptOutcome: 'EXECUTED', sameKeyAgain: 'never' },
  RESULT_NOT_READABLE: { code: 'INTERNAL_SERVER_ERROR', attemptOutcome: 'EXECUTED', sameKeyAgain: 'never' },
  TRANSACTION_ESCAPED: { code: 'INTERNAL_SERVER_ERROR', attemptOutcome: 'UNKNOWN', sameKeyAgain: 'never' },
  NESTED: { code: 'INTERNAL_SERVER_ERROR', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: 'never' },
} as const satisfies Record<string, ReasonRow>

/** Why an idempotent call was refused or failed. */
export type Reason = keyof typeof REASONS
