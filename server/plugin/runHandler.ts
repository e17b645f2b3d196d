import type { ReadInput } from '../call/readInput.js'
import { isIdempotencyError } from '../errors.js'
import { refusal } from '../refusals.js'
import { trpcError } from './answers.js'
import { type Call, type CallResult, withInput } from './procedure.js'

/**
 * Runs what comes after the wrapper, once, and makes sure that the input was what the fingerprint says of it: of bytes
 * that is known only when the last one has been read.
 *
 * @param overrides what is added to ctx
 */
export async function runHandler(call: Call, overrides: object, input: ReadInput): Promise<CallResult> {
  const result = await call.next(withInput(call, overrides, input.forRun()))
  const isTrue = result.ok ? await input.wasTrue() : !input.isKnownToBeFalse()
  return isTrue ? result : { ok: false, error: trpcError(refusal('DIGEST_INVALID', { procedure: call.path })) }
}

/** Whether a handler was given other bytes than announced: what it did before it knew proves nothing. */
export function hadFalseInput({ cause }: { cause?: unknown }): boolean {
  return isIdempotencyError(cause) && cause.reason === 'DIGEST_INVALID'
}
