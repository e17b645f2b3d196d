import type { RetryPolicy } from './options.js'

/**
 * Milliseconds to wait before the next attempt: exponential back-off with full jitter, so that clients that failed
 * together do not come back together. Where the server named a delay, the jitter comes on top of it.
 *
 * @param attempts how many attempts were made
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function delayMs(attempts: number, { baseDelayMs, maxDelayMs }: RetryPolicy, namedMs = 0): number {
  const bound = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1))
  return Math.min(namedMs, maxDelayMs) + Math.random() * bound
}

/**
 * What a response asks for by its header `Retry-After`, in seconds or as a date; 0 where there is none to be read.
 *
 * @param response what tRPC's HTTP links leave in the meta of an error
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function retryAfterMs(response: unknown): number {
  const header = (response as Partial<Response> | undefined)?.headers?.get('retry-after') ?? ''
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Math.max(0, ms || 0)
}
