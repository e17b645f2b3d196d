import type { IdempotencyErrorData } from '../wire/errorData.js'
import { isIdempotencyError } from './errors.js'

/**
 * Adds what the client needs to know of an idempotency error to an error's shape, as `data.idempotency`; any other
 * error's shape is returned as it is. With a tRPC whose procedures have `.errors()` (11.22 and later) this happens by
 * itself; for an older one call it at the end of the router's `errorFormatter`.
 */
export function addIdempotencyErrorData<Shape extends { data: object }>(opts: {
  shape: Shape
  error: { cause?: unknown }
}): Shape {
  const { cause } = opts.error
  if (!isIdempotencyError(cause)) return opts.shape
  const idempotency: IdempotencyErrorData = { reason: cause.reason, attemptOutcome: cause.attemptOutcome }
  if (cause.retryAfterMs !== undefined) idempotency.retryAfterMs = cause.retryAfterMs
  return { ...opts.shape, data: { ...opts.shape.data, idempotency } }
}
