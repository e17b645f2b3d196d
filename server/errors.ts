import type { AttemptOutcome } from '../wire/errorData.js'
import type { Reason } from '../wire/reasons.js'
import { REASONS } from '../wire/reasons.js'

export interface IdempotencyErrorOptions {
  /** Where it is not what the reason says by itself. */
  attemptOutcome?: AttemptOutcome
  /** Milliseconds after which the same key may be sent again. */
  retryAfterMs?: number
  /** The database's clock, in milliseconds since 1970. */
  serverTimeMs?: number
  cause?: unknown
}

/**
 * Why an idempotent call was refused or failed. It reaches error formatters and log hooks as the `cause` of the
 * `TRPCError`, and the client as `shape.data.idempotency`.
 */
export class IdempotencyError extends Error {
  override readonly name = 'IdempotencyError'
  readonly reason: Reason
  /** What is known of the effect of this attempt. */
  readonly attemptOutcome: AttemptOutcome
  readonly retryAfterMs: number | undefined
  readonly serverTimeMs: number | undefined

  constructor(reason: Reason, message: string, options: IdempotencyErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.reason = reason
    this.attemptOutcome = options.attemptOutcome ?? REASONS[reason].attemptOutcome
    this.retryAfterMs = options.retryAfterMs
    this.serverTimeMs = options.serverTimeMs
  }
}

/** Whether something is such an error, also one of another copy of this package, for which `instanceof` says no. */
export function isIdempotencyError(value: unknown): value is IdempotencyError {
  return value instanceof Error && value.name === 'IdempotencyError' && 'reason' in value && 'attemptOutcome' in value
}
