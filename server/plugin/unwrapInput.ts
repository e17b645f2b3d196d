import { unwrap } from '../../wire/envelope.js'
import { originalInput, replaceRawInput } from '../call/originalInput.js'

/** What tRPC hands to a middleware, as far as it is read here. */
interface UnwrappedCall<Result> {
  input: unknown
  getRawInput(): Promise<unknown>
  next(): Promise<Result>
}

interface Overrides {
  input: unknown
  getRawInput(): Promise<unknown>
}

/**
 * A middleware that takes the key from around the input: `t.procedure.use(unwrapInput)`. Whatever comes after it sees
 * the input that the caller gave, `.input()` and readers of the raw input that stand before the wrapper too; the wrapper
 * still finds the key. Calls without a key pass through.
 */
export async function unwrapInput<Result>({ input, getRawInput, next }: UnwrappedCall<Result>): Promise<Result> {
  const unwrapped = unwrap(await getRawInput())
  if (unwrapped.kind !== 'enveloped') return next()
  const overrides: Overrides = {
    // Only where tRPC had put the envelope there; elsewhere it would be merged, unchecked, into what parsers return.
    input: originalInput(input),
    getRawInput: replaceRawInput(unwrapped.input, { carried: unwrapped.carried, getRawInput }),
  }
  // Its types take one of the two; it reads both.
  return (next as (overrides: Overrides) => Promise<Result>)(overrides)
}
