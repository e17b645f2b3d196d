import type { StoredResult, Unreadable } from './engine/record.js'
import { fromText, jsonSerializer, type Serializer } from './engine/serializer.js'
import { refusal } from './refusals.js'
import { type ErrorShape, isErrorShape } from './replayedError.js'

/**
 * Reads a stored result.
 *
 * @throws IdempotencyError RESULT_NOT_READABLE for a text that the serializer, or this version, does not understand
 */
export function readResult(text: string | null, of: { procedure: string; serializer: Serializer }): unknown {
  try {
    return fromText(text, of.serializer)
  } catch (cause) {
    throw refusal('RESULT_NOT_READABLE', of, { cause })
  }
}

/** The same for the result of a recovery point. What came after it, nobody can tell. */
export function readPoint(
  result: StoredResult | Unreadable,
  of: { procedure: string; serializer: Serializer },
): unknown {
  let cause: unknown
  try {
    if (result === null || typeof result === 'string') return fromText(result, of.serializer)
  } catch (error) {
    cause = error
  }
  throw refusal('RESULT_NOT_READABLE', of, { attemptOutcome: 'UNKNOWN', cause })
}

/** The same for a final error. What it says of its own effect is in it, and cannot be read either. */
export function readErrorShape(text: string, of: { procedure: string }): ErrorShape {
  let cause: unknown
  try {
    const shape = fromText(text, jsonSerializer)
    if (isErrorShape(shape)) return shape
  } catch (error) {
    cause = error
  }
  throw refusal('RESULT_NOT_READABLE', of, { attemptOutcome: 'UNKNOWN', cause })
}
