import type { RetryPolicy } from './options.js'

/**
 * Milliseconds to wait before the next attempt: exponential back-off with full jitter, so that clients that failed
 * together do not come back together. Where the server named a delay, the jitter comes on top of it.
 *
 * @param attempts how many attempts were made
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoff(attempts: number, policy: RetryPolicy, retryAfterMs = 0): number {
  const bound = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempts - 1))
  return Math.min(retryAfterMs, policy.maxDelayMs) + Math.random() * bound
}
