import type { AttemptOutcome } from './errorData.js'
import { type Reason, SAME_KEY_AGAIN, type SameKeyAgain } from './sameKeyAgain.js'

/** What one reason means, on either end. */
export interface ReasonRow {
  /** tRPC's code for the error, and by it the HTTP status. */
  readonly code: string
  /** What the reason says unless the error says otherwise. */
  readonly attemptOutcome: AttemptOutcome
  readonly sameKeyAgain: SameKeyAgain
}

/**
 * The table of reasons, read before any code is: the server takes the tRPC code from it, a client takes from it whether
 * to retry.
 */
export const REASONS = {
  KEY_MISSING: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: SAME_KEY_AGAIN.KEY_MISSING },
  KEY_INVALID: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: SAME_KEY_AGAIN.KEY_INVALID },
  KEY_FROM_FUTURE: {
    code: 'BAD_REQUEST',
    attemptOutcome: 'NOT_EXECUTED',
    sameKeyAgain: SAME_KEY_AGAIN.KEY_FROM_FUTURE,
  },
  KEY_REUSED: {
    code: 'UNPROCESSABLE_CONTENT',
    attemptOutcome: 'NOT_EXECUTED',
    sameKeyAgain: SAME_KEY_AGAIN.KEY_REUSED,
  },
  KEY_TOO_OLD: {
    code: 'PRECONDITION_FAILED',
    attemptOutcome: 'NOT_EXECUTED',
    sameKeyAgain: SAME_KEY_AGAIN.KEY_TOO_OLD,
  },
  DIGEST_INVALID: { code: 'BAD_REQUEST', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: SAME_KEY_AGAIN.DIGEST_INVALID },
  SCOPE_MISSING: { code: 'UNAUTHORIZED', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: SAME_KEY_AGAIN.SCOPE_MISSING },
  IN_FLIGHT: { code: 'CONFLICT', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: SAME_KEY_AGAIN.IN_FLIGHT },
  LEASE_LOST: { code: 'CONFLICT', attemptOutcome: 'UNKNOWN', sameKeyAgain: SAME_KEY_AGAIN.LEASE_LOST },
  STORE_UNAVAILABLE: {
    code: 'SERVICE_UNAVAILABLE',
    attemptOutcome: 'NOT_EXECUTED',
    sameKeyAgain: SAME_KEY_AGAIN.STORE_UNAVAILABLE,
  },
  ABANDONED: { code: 'CONFLICT', attemptOutcome: 'UNKNOWN', sameKeyAgain: SAME_KEY_AGAIN.ABANDONED },
  RESULT_NOT_STORABLE: {
    code: 'INTERNAL_SERVER_ERROR',
    attemptOutcome: 'NOT_EXECUTED',
    sameKeyAgain: SAME_KEY_AGAIN.RESULT_NOT_STORABLE,
  },
  RESULT_TOO_LARGE: {
    code: 'INTERNAL_SERVER_ERROR',
    attemptOutcome: 'NOT_EXECUTED',
    sameKeyAgain: SAME_KEY_AGAIN.RESULT_TOO_LARGE,
  },
  TRANSACTION_ESCAPED: {
    code: 'INTERNAL_SERVER_ERROR',
    attemptOutcome: 'UNKNOWN',
    sameKeyAgain: SAME_KEY_AGAIN.TRANSACTION_ESCAPED,
  },
  NESTED: { code: 'INTERNAL_SERVER_ERROR', attemptOutcome: 'NOT_EXECUTED', sameKeyAgain: SAME_KEY_AGAIN.NESTED },
} as const satisfies Record<Reason, ReasonRow>
