export { type BindOptions, bindIdempotency } from './bindIdempotency.js'
export { retryIntent } from './retryIntent.js'
