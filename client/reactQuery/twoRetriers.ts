import { idempotencyErrorOf } from '../failure.js'

/** Notices, once, that TanStack Query retries what the link has retried before it gave up: the two numbers multiply. */
export function twoRetriersWarning(): (error: unknown) => void {
  let warned = false
  return (error) => {
    const attempts = idempotencyErrorOf(error)?.attempts ?? 0
    if (warned || attempts < 2) return
    warned = true
    console.warn(
      `bindIdempotency: idempotencyLink gave a mutation up after ${attempts} attempts, and TanStack Query retries it, so the numbers of attempts multiply. Let one of the two retry: take the option retry away, or set maxAttempts: 1 in the link.`,
    )
  }
}
