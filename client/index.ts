export type { IdempotencyErrorData } from '../wire/errorData.js'
export type { AttemptOutcome, Reason } from '../wire/reasons.js'
export { type IdempotencyFailure, idempotencyErrorOf } from './failure.js'
export { type IdempotencyLinkOptions, idempotencyLink, type MutationOptions } from './link.js'
