import { TRPC_ERROR_CODES_BY_NUMBER } from '@trpc/server/rpc'
import { AFTER_DELAY } from '../wire/afterDelay.js'
import { type AttemptOutcome, type IdempotencyErrorData, readErrorData } from '../wire/errorData.js'
import type { HeaderState } from './carrier.js'
import type { Intent } from './intents.js'

/** What one failed attempt means. */
export interface Verdict {
  /** Whether the same key may be sent again. */
  again: boolean
  /** What is known of the effect of this attempt. */
  attemptOutcome: AttemptOutcome
  /** What the server said of idempotency, where it did. */
  said?: IdempotencyErrorData | undefined
}

/**
 * Answers that pass: the same request may well succeed a little later. By their numbers tRPC's codes for 500, 502, 503
 * and 504 are one, INTERNAL_SERVER_ERROR.
 */
const PASSING = new Set(['INTERNAL_SERVER_ERROR', 'TIMEOUT', 'TOO_MANY_REQUESTS'])

/** Codes that say nothing of how far the server got. Every other one is a refusal. */
const INDEFINITE = new Set(['INTERNAL_SERVER_ERROR', 'TIMEOUT', 'CLIENT_CLOSED_REQUEST'])

/**
 * Judges a failed attempt.
 *
 * @param error what the next link reported
 * @param state what became of the key, where it was to travel in a header
 */
export function judge(error: { shape?: unknown }, state?: HeaderState): Verdict {
  // Refused by `idempotencyHeaders`, and with it the whole request.
  if (state === 'refused') return { again: false, attemptOutcome: 'NOT_EXECUTED' }
  const verdict = judgeShape(error.shape as Shape)
  // Nobody asked for the key, so nothing makes a repeat safe.
  if (state === 'waiting') verdict.again = false
  return verdict
}

type Shape = { code?: unknown; data?: { code?: unknown } } | null | undefined

function judgeShape(shape: Shape): Verdict {
  const said = readErrorData(shape?.data)
  if (said?.reason !== undefined) {
    return { again: Object.hasOwn(AFTER_DELAY, said.reason), attemptOutcome: said.attemptOutcome, said }
  }
  const code = codeOf(shape?.code)
  if (code === undefined) return { again: true, attemptOutcome: 'UNKNOWN' }
  return {
    // It shares its number with those that pass, and never does.
    again: !said?.final && PASSING.has(code) && shape?.data?.code !== 'NOT_IMPLEMENTED',
    attemptOutcome: said?.attemptOutcome ?? (INDEFINITE.has(code) ? 'UNKNOWN' : 'NOT_EXECUTED'),
    said,
  }
}

/** Whether, after such an answer, the operation may have been executed by this attempt or another. */
export function leavesOutcomeUnknown({ attemptOutcome, said }: Verdict, minted: boolean): boolean {
  return (
    attemptOutcome === 'UNKNOWN' ||
    // This attempt did nothing, but another attempt at the same operation is running.
    said?.reason === 'IN_FLIGHT' ||
    // The server has forgotten, so it cannot say that the key was never executed; only its maker can, who knows that it
    // is new.
    (said?.reason === 'KEY_TOO_OLD' && !minted)
  )
}

/** Longer than any proxy on the way keeps a request that it delivers twice. */
const LONGEST_DELIVERY_MS = 300_000

/**
 * Whether a refused key may be replaced: the client's clock is wrong, this very call made the key, and it was sent once,
 * so that no other attempt can have been executed with it. One from the future will be accepted some day; that has to be
 * so far off that no second delivery of the same request can be meant.
 */
export function mayBeRenamed({ said }: Verdict, { minted, attempts }: Intent): boolean {
  if (!minted || attempts !== 1 || said?.serverTimeMs === undefined) return false
  if (said.reason === 'KEY_TOO_OLD') return true
  return said.reason === 'KEY_FROM_FUTURE' && (said.retryAfterMs ?? 0) > LONGEST_DELIVERY_MS
}

/** A gateway's `{"error":{"code":503}}` passes tRPC's check for an envelope: only tRPC's own numbers are tRPC's word. */
function codeOf(code: unknown): string | undefined {
  return typeof code === 'number' ? (TRPC_ERROR_CODES_BY_NUMBER as Record<number, string | undefined>)[code] : undefined
}
