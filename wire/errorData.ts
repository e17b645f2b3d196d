import { type Reason, SAME_KEY_AGAIN } from './sameKeyAgain.js'

/** What an error says about the effect of the attempt that it answers. */
export type AttemptOutcome = 'EXECUTED' | 'NOT_EXECUTED' | 'UNKNOWN'

/** What an error of an idempotent procedure carries as `shape.data.idempotency`, on every transport. */
export interface IdempotencyErrorData {
  /** Left out for an error of the handler, whose attempt nevertheless left something behind. */
  reason?: Reason
  attemptOutcome: AttemptOutcome
  /** Milliseconds after which the same key may be sent again, where the server knows. */
  retryAfterMs?: number
  /** The database's clock, in milliseconds since 1970, where a key was refused for its age. */
  serverTimeMs?: number
}

/** Reads what the server said from the `data` of an error's shape; `undefined` where it said nothing that we know. */
export function readErrorData(data: unknown): IdempotencyErrorData | undefined {
  const said = property(data, 'idempotency')
  const reason = property(said, 'reason')
  const attemptOutcome = property(said, 'attemptOutcome')
  const retryAfterMs = positive(property(said, 'retryAfterMs'))
  const serverTimeMs = positive(property(said, 'serverTimeMs'))
  if (!isAttemptOutcome(attemptOutcome)) return undefined
  if (reason === undefined) return { attemptOutcome }
  // A reason of a newer server is judged by its tRPC code, like an error of the application.
  if (typeof reason !== 'string' || !isReason(reason)) return undefined
  return {
    reason,
    attemptOutcome,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(serverTimeMs !== undefined && { serverTimeMs }),
  }
}

/** No larger than a time that a UUIDv7 can hold. */
function positive(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value < 2 ** 48 ? value : undefined
}

function isReason(value: string): value is Reason {
  return Object.hasOwn(SAME_KEY_AGAIN, value)
}

function isAttemptOutcome(value: unknown): value is AttemptOutcome {
  return value === 'EXECUTED' || value === 'NOT_EXECUTED' || value === 'UNKNOWN'
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
