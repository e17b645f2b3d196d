import type { AttemptOutcome, Reason } from '../wire/reasons.js'
import type { Operation } from './engine/record.js'
import { IdempotencyError } from './errors.js'

/** What the caller of an operation is told when it was not run. Messages hold no input and no key. */
const TEXTS = {
  KEY_REUSED:
    'this idempotency key was used before for another input or another procedure. A new intent needs a new key.',
  KEY_TOO_OLD:
    'this idempotency key is older than the server remembers, so it cannot tell whether it was executed. Look whether the effect is there before you send it with a new key.',
  KEY_FROM_FUTURE:
    "this idempotency key was made by a clock that is ahead of the database's. Set the clock right and use a new key.",
  ABANDONED:
    'an earlier attempt with this idempotency key, in lease mode, ended without a result. Somebody has to find out what it did and resolve it.',
  TRANSACTION_ESCAPED:
    'queries left the transaction that `prisma` opened, as they do under an extension that runs each query in a transaction of its own. Give createIdempotency a client without it; until then nothing here is atomic.',
} as const satisfies Partial<Record<Reason, string>>

export function refusal(reason: keyof typeof TEXTS, operation: Operation): IdempotencyError {
  return new IdempotencyError(reason, `${operation.procedure}: ${TEXTS[reason]}`)
}

/** @param retryAfterMs when it is worth to ask again; a second where nothing better is known */
export function inFlight({ procedure }: Operation, retryAfterMs = 1000): IdempotencyError {
  return new IdempotencyError(
    'IN_FLIGHT',
    `${procedure}: another attempt with this idempotency key is still running. Send the same key again later.`,
    { retryAfterMs },
  )
}

/** The database failed. Its own error is the cause: it can name tables and values, so the message leaves it out. */
export function storeUnavailable(
  { procedure }: Operation,
  attemptOutcome: Extract<AttemptOutcome, 'NOT_EXECUTED' | 'UNKNOWN'>,
  cause: unknown,
): IdempotencyError {
  const known = attemptOutcome === 'UNKNOWN' ? 'It may have been executed' : 'It was not executed'
  return new IdempotencyError(
    'STORE_UNAVAILABLE',
    `${procedure}: the database failed (see the cause on the server). ${known}; send the same idempotency key again.`,
    { attemptOutcome, cause },
  )
}
