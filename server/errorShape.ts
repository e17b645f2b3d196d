import type { IdempotencyErrorData } from '../wire/errorData.js'
import { isIdempotencyError } from './errors.js'

/** Marks an error of a handler that failed after a recovery point was recorded. */
const AFTER_EFFECT = Symbol.for('trpc-idempotency.afterEffect')

/** Marks an error of a handler that left something behind: its client must not take it for NOT_EXECUTED. */
export function markAfterEffect(error: Error): void {
  Object.defineProperty(error, AFTER_EFFECT, { value: true, configurable: true })
}

/** Whether an error's shape says something of idempotency. */
export function saysIdempotency(error: { cause?: unknown }): boolean {
  return AFTER_EFFECT in error || isIdempotencyError(error.cause)
}

/**
 * Adds what the client needs to know of an idempotency error to an error's shape, as `data.idempotency`; any other
 * error's shape is returned as it is. With a tRPC whose procedures have `.errors()` (11.22 and later) this happens by
 * itself; for an older one call it at the end of the router's `errorFormatter`.
 */
export function addIdempotencyErrorData<Shape extends { data: object }>(opts: {
  shape: Shape
  error: { cause?: unknown }
}): Shape {
  if (!saysIdempotency(opts.error)) return opts.shape
  return { ...opts.shape, data: { ...opts.shape.data, idempotency: dataOf(opts.error) } }
}

function dataOf(error: { cause?: unknown }): IdempotencyErrorData {
  const { cause } = error
  if (!isIdempotencyError(cause)) return { attemptOutcome: 'UNKNOWN' }
  const attemptOutcome = AFTER_EFFECT in error ? 'UNKNOWN' : cause.attemptOutcome
  const idempotency: IdempotencyErrorData = { reason: cause.reason, attemptOutcome }
  if (cause.retryAfterMs !== undefined) idempotency.retryAfterMs = cause.retryAfterMs
  if (cause.serverTimeMs !== undefined) idempotency.serverTimeMs = cause.serverTimeMs
  return idempotency
}
