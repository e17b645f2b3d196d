import type { Carried } from '../../wire/carried.js'
import { unwrap } from '../../wire/envelope.js'

export type GetRawInput = () => Promise<unknown>

/**
 * The input that a caller gave, without the envelope that carries the key; any other value as it is. For what sees
 * inputs as they arrive: `onError`, `errorFormatter` and loggers.
 */
export function originalInput(input: unknown): unknown {
  const unwrapped = unwrap(input)
  return unwrapped.kind === 'enveloped' ? unwrapped.input : input
}

/** What a `getRawInput` that gives the original input remembers of the one that it took the place of. */
interface Replaced {
  carried: Carried
  getRawInput: GetRawInput
}

const REPLACED = Symbol.for('trpc-idempotency.replaced')

/** A `getRawInput` that gives the original input, and leads the wrapper further down to the key. */
export function replaceRawInput(input: unknown, replaced: Replaced): GetRawInput {
  return Object.defineProperty(async () => input, REPLACED, { value: replaced })
}

/** The key that was taken from beside the input before. */
export function carriedBeside(getRawInput: GetRawInput): Carried | undefined {
  return (getRawInput as { [REPLACED]?: Replaced })[REPLACED]?.carried
}

/** The `getRawInput` that tRPC made for the call. */
export function ofTheCall(getRawInput: GetRawInput): GetRawInput {
  return (getRawInput as { [REPLACED]?: Replaced })[REPLACED]?.getRawInput ?? getRawInput
}
