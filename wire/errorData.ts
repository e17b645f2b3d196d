import { type AttemptOutcome, REASONS, type Reason } from './reasons.js'

/** What an error of an idempotent procedure carries as `shape.data.idempotency`, on every transport. */
export interface IdempotencyErrorData {
  /** Left out for an error of the handler, whose attempt nevertheless left something behind. */
  reason?: Reason
  attemptOutcome: AttemptOutcome
  /** Milliseconds after which the same key may be sent again, where the server knows. */
  retryAfterMs?: number
}

/** Reads what the server said from the `data` of an error's shape; `undefined` where it said nothing that we know. */
export function readErrorData(data: unknown): IdempotencyErrorData | undefined {
  const said = property(data, 'idempotency')
  const reason = property(said, 'reason')
  const attemptOutcome = property(said, 'attemptOutcome')
  const retryAfterMs = property(said, 'retryAfterMs')
  if (!isAttemptOutcome(attemptOutcome)) return undefined
  if (reason === undefined) return { attemptOutcome }
  // A reason of a newer server is judged by its tRPC code, like an error of the application.
  if (typeof reason !== 'string' || !isReason(reason)) return undefined
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0
    ? { reason, attemptOutcome, retryAfterMs }
    : { reason, attemptOutcome }
}

function isReason(value: string): value is Reason {
  return Object.hasOwn(REASONS, value)
}

function isAttemptOutcome(value: unknown): value is AttemptOutcome {
  return value === 'EXECUTED' || value === 'NOT_EXECUTED' || value === 'UNKNOWN'
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
