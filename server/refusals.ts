import type { Reason } from '../wire/reasons.js'
import type { Operation, Tombstone } from './engine/record.js'
import type { Storable } from './engine/result.js'
import { IdempotencyError, type IdempotencyErrorOptions, isIdempotencyError } from './errors.js'
import type { InTransaction } from './store/openTransaction.js'
import type { Fault } from './store/sqlDatabase.js'

/** What the caller of an operation is told when it was not run. Messages hold no input and no key. */
const TEXTS = {
  KEY_REUSED:
    'this idempotency key was used before for another input or another procedure. A new intent needs a new key.',
  KEY_TOO_OLD:
    'this idempotency key is older than the server remembers, so it cannot tell whether it was executed. Look whether the effect is there before you send it with a new key.',
  KEY_FROM_FUTURE:
    "this idempotency key was made by a clock that is ahead of the database's. Set the clock right and use a new key.",
  DIGEST_INVALID: 'the bytes that arrived are others than Content-Digest announced. Send them again, whole.',
  RESULT_NOT_READABLE:
    'what is stored of this operation cannot be read: another version of the library wrote it, or the row was changed by hand. Nothing is run again. Let the version answer that wrote it, or look whether the effect is there.',
  ABANDONED:
    'an earlier attempt with this idempotency key, in lease mode, ended without a result. Somebody has to find out what it did and resolve it.',
  TRANSACTION_ESCAPED:
    'queries left the transaction that was opened for them, as they do under a Prisma extension that runs each query in a transaction of its own. Give createIdempotency a client without it; with it nothing is atomic.',
  NESTED:
    'this idempotent procedure was called from inside another one, with its ctx. It would run in a transaction of its own, which the outer one could not undo. Call a plain function with ctx.tx instead.',
} as const satisfies Partial<Record<Reason, string>>

export function refusal(
  reason: keyof typeof TEXTS,
  { procedure }: Pick<Operation, 'procedure'>,
  options?: IdempotencyErrorOptions,
): IdempotencyError {
  return new IdempotencyError(reason, `${procedure}: ${TEXTS[reason]}`, options)
}

/** A client that is guarded was used inside of an open transaction. It is not the database that refused. */
export function usedPastTx({ procedure, attemptOutcome }: InTransaction): IdempotencyError {
  return new IdempotencyError(
    'TRANSACTION_ESCAPED',
    `${procedure}: the root client was used while a transaction of the library is open. What it does would not be part of that transaction, and can wait for a connection that the transaction itself holds. Use ctx.tx, and in recoveryPoint.tx the client that it is given.`,
    { attemptOutcome },
  )
}

/** @param retryAfterMs when it is worth to ask again; a second where nothing better is known */
export function inFlight({ procedure }: Operation, retryAfterMs = 1000): IdempotencyError {
  return new IdempotencyError(
    'IN_FLIGHT',
    `${procedure}: another attempt with this idempotency key is still running. Send the same key again later.`,
    { retryAfterMs },
  )
}

export function resultRefused(
  { procedure }: Operation,
  { reason, complaint, cause }: Extract<Storable, { ok: false }>,
): IdempotencyError {
  return new IdempotencyError(
    reason,
    `${procedure}: the result ${complaint}; nothing was changed. Return plain data that can be stored and answered again.`,
    { cause },
  )
}

/** The handler failed in a way that proves nothing, and its procedure wants a person to find out. */
export function abandoned({ procedure }: Operation, cause: unknown): IdempotencyError {
  return new IdempotencyError('ABANDONED', `${procedure}: ${TEXTS.ABANDONED}`, { cause })
}

/** Another attempt has taken the operation over, or has to be feared to have: this one's word counts no more. */
export function leaseLost({ procedure }: Pick<Operation, 'procedure'>): IdempotencyError {
  return new IdempotencyError(
    'LEASE_LOST',
    `${procedure}: the lease was lost to another attempt while this one ran. Send the same idempotency key again for its answer.`,
  )
}

/** A recovery point's result that cannot be recorded. The next attempt reaches the point once more. */
export function pointRefused(
  { procedure }: Operation,
  name: string,
  { complaint, cause }: Extract<Storable, { ok: false }>,
): Error {
  const message = `${procedure}: the result of recovery point '${name}' ${complaint}, so it cannot be recorded. Return plain data.`
  return new Error(message, { cause })
}

/** It is settled, and there is no result to answer. It is never run again. */
export function withoutResult({ procedure }: Pick<Operation, 'procedure'>, tombstone: Tombstone): IdempotencyError {
  switch (tombstone) {
    case 'RESULT_NOT_STORABLE':
    case 'RESULT_TOO_LARGE':
      return new IdempotencyError(
        tombstone,
        `${procedure}: it was executed, but its result cannot be stored and answered. Return plain data of less than maxResultBytes.`,
        { attemptOutcome: 'EXECUTED' },
      )
    case 'RESULT_ERASED':
      return new IdempotencyError(
        'RESULT_ERASED',
        `${procedure}: it was executed, and its result has been erased since. Look the effect up; a new intent needs a new key.`,
      )
    case 'OUTCOME_ERASED':
      return new IdempotencyError(
        'RESULT_ERASED',
        `${procedure}: what came of it has been erased. Look whether the effect is there before you send it with a new key.`,
        { attemptOutcome: 'UNKNOWN' },
      )
  }
}

export interface Unavailable {
  cause: unknown
  /** `NOT_EXECUTED` where it is left out. */
  attemptOutcome?: 'NOT_EXECUTED' | 'UNKNOWN'
  /** What the database's error was found to mean. */
  fault?: Fault
  settings?: { timeoutMs: number }
}

/**
 * The database failed. Its own error is the cause: it can name tables and values, so the message leaves it out. What is
 * no failure of the database says so itself.
 */
export function storeUnavailable(
  { procedure }: Operation,
  { cause, fault, settings, attemptOutcome = 'NOT_EXECUTED' }: Unavailable,
): IdempotencyError {
  if (isIdempotencyError(cause)) return cause
  return new IdempotencyError(
    'STORE_UNAVAILABLE',
    `${procedure}: ${whatFailed(fault, settings?.timeoutMs)}; ${attemptOutcome === 'UNKNOWN' ? 'it may have been executed' : 'it was not executed'}. Send the same idempotency key again.`,
    { attemptOutcome, cause },
  )
}

function whatFailed(fault: Fault | undefined, timeoutMs: number | undefined): string {
  if (fault === 'aborted') {
    return 'a query of the handler failed, and the handler went on as if it had not; rethrow the error, or do not cause it'
  }
  if (fault === 'timed out' && timeoutMs !== undefined) {
    return `the transaction took longer than timeoutMs (${timeoutMs}); a handler that queries another client than ctx.tx can wait for a connection that its own transaction holds`
  }
  return 'the database failed (see the cause on the server)'
}

/** What an attempt is told that had sent a COMMIT before, got no answer to it, and now ends without the row's word. */
export function outcomeUnknown(error: IdempotencyError, { procedure }: Operation): IdempotencyError {
  if (error.attemptOutcome === 'UNKNOWN') return error
  return new IdempotencyError(
    error.reason,
    `${procedure}: the connection was lost during COMMIT, so it may have been executed. Send the same idempotency key again.`,
    {
      attemptOutcome: 'UNKNOWN',
      cause: error,
      ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
    },
  )
}
