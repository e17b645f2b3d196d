import type { Delivery } from '../history.js'
import type { Case } from './case.js'

/** Clocks of one machine, and rounding to milliseconds in between. */
const SLACK_MS = 20

/**
 * No error claimed NOT_EXECUTED of an operation that had executed. NOT_EXECUTED speaks of one delivery: a copy that the
 * network makes of the same request may still execute. So the rule asks of each effect, and of each charge, who can
 * have brought it about. That is a delivery of its intent
 * - that had begun when the effect was written,
 * - that was not answered yet, or was never answered, or was answered UNKNOWN (it may have gone on),
 * - that was not answered NOT_EXECUTED,
 * - and that was no request of a call of which the link has said NOT_EXECUTED: that speaks of all its requests, but not
 *   of the network's copies, nor of other calls with the same key.
 *
 * An effect for which there is no such delivery was executed by one of which NOT_EXECUTED was claimed.
 */
export function wrongClaims({ deliveries, calls, effects, charges }: Case): string[] {
  const deniedCalls = new Set(calls.filter(({ outcome }) => outcome === 'NOT_EXECUTED').map(({ call }) => call))
  const suspects = deliveries.filter(({ end, copy, call }) => {
    if (end.kind === 'error' && end.attemptOutcome === 'NOT_EXECUTED') return false
    return copy || !deniedCalls.has(call)
  })
  const isExplained = (atMs: number) => suspects.some((suspect) => wasRunning(suspect, atMs))
  return [
    ...effects.filter(({ writtenMs }) => !isExplained(writtenMs)).map(({ table, id }) => `row ${id} of ${table}`),
    ...charges.filter(({ madeAtMs }) => !isExplained(madeAtMs)).map(({ id }) => `charge ${id}`),
  ].map((what) => `every attempt that can have made ${what} was told that it was NOT_EXECUTED`)
}

function wasRunning({ startMs, endMs, end }: Delivery, atMs: number): boolean {
  const mayHaveGoneOn = end.kind === 'nothing' || (end.kind === 'error' && end.attemptOutcome === 'UNKNOWN')
  return startMs - SLACK_MS <= atMs && (mayHaveGoneOn || atMs <= endMs + SLACK_MS)
}
