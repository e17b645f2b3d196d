import { wasReplayed } from '../call/replayed.js'
import { isIdempotencyError } from '../errors.js'

/** What tRPC hands to `responseMeta`, as far as it is read here. */
export interface ResponseMetaCall {
  info?: { calls: readonly { getRawInput(): Promise<unknown> }[] } | undefined
  errors: readonly { cause?: unknown }[]
}

/**
 * The headers that tell of idempotency, for `responseMeta` of any HTTP adapter: `Idempotency-Replayed`, and `Retry-After`
 * in seconds. A courtesy: the same is in each error's `data.idempotency`. A batch has one response, so it has a list of
 * `true` and `false` by the places of its calls, and the longest of the delays. A stream sends its headers before any
 * call has ended, so it has neither.
 */
export function idempotencyResponseMeta({ info, errors }: ResponseMetaCall): { headers: Headers } {
  const headers = new Headers()
  const replayed = info?.calls.map(({ getRawInput }) => wasReplayed(getRawInput)) ?? []
  if (replayed.includes(true)) headers.set('Idempotency-Replayed', replayed.join(', '))
  const delays = errors.map(({ cause }) => (isIdempotencyError(cause) ? cause.retryAfterMs : undefined))
  const longest = Math.max(0, ...delays.map((delay) => delay ?? 0))
  if (longest > 0) headers.set('Retry-After', String(Math.ceil(longest / 1000)))
  return { headers }
}
