import { TRPCClientError } from '@trpc/client'
import type { AttemptOutcome, IdempotencyErrorData } from '../wire/errorData.js'
import type { Intent } from './intents.js'
import type { Verdict } from './judge.js'

/** What is known when an intent was given up, with what the server said to its last attempt. */
export interface IdempotencyFailure extends IdempotencyErrorData {
  /** The key of the intent. Sent again with it, the intent executes at most once. */
  key: string
  /** How often it was sent. */
  attempts: number
  /** Whether the mutation was executed by any attempt. `UNKNOWN`: only sending the same key again decides. */
  outcome: AttemptOutcome
}

/** Where a failure travels: tRPC's client errors have a place for whatever links know. */
const META = 'idempotency'

/** Reads what the link knows of a failed mutation; `undefined` for an error that did not pass through the link. */
export function idempotencyErrorOf(error: unknown): IdempotencyFailure | undefined {
  const meta = (error as { meta?: Record<string, unknown> } | null | undefined)?.meta
  return meta?.[META] as IdempotencyFailure | undefined
}

/** What is known of the last attempt. */
export type Known = Omit<Verdict, 'again'>

/**
 * Whether a mutation that failed may have been executed. Only sending the same key again decides: do not let the user
 * start anew, nor tell that nothing happened.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  return idempotencyErrorOf(error)?.outcome === 'UNKNOWN'
}

/** The error that the caller sees, with all that is known of the intent. */
export function failed(error: Error, intent: Intent, { attemptOutcome, said }: Known): TRPCClientError<never> {
  const failure: IdempotencyFailure = {
    key: intent.key,
    attempts: intent.attempts,
    outcome: intent.outcomeUnknown ? 'UNKNOWN' : attemptOutcome,
    ...said,
    attemptOutcome,
  }
  return TRPCClientError.from(error, { meta: { [META]: failure } })
}

/** The error of a caller who aborted. It is an `AbortError`, as it is without this link. */
export function aborted(path: string, intent: Intent): Error {
  const known = intent.outcomeUnknown
    ? 'it may have been executed; send it again with the same idempotency key to find out'
    : 'it was not executed'
  return new DOMException(`${path} was aborted: ${known}.`, 'AbortError')
}

/** What is wrong with an ending link that was to send the key, and did not. */
export function unprotected(path: string): Error {
  return new Error(`${path} was sent without its key: the ending link lacks headers: idempotencyHeaders(...).`)
}
