import type { StoredResult, Unreadable } from './engine/record.js'
import { fromText, jsonSerializer, type Serializer } from './engine/serializer.js'
import { refusal } from './refusals.js'
import { type ErrorShape, isErrorShape } from './replayedError.js'

/**
 * Reads a stored result.
 *
 * @throws IdempotencyError RESULT_NOT_READABLE for a text that the serializer, or this version, does not understand
 */
export function readResult(text: StoredResult, of: { procedure: string; serializer: Serializer }): unknown {
  return readable(() => fromText(text, of.serializer), of, 'EXECUTED')
}

/** The same for the result of a recovery point. What came after it, nobody can tell. */
export function readPoint(
  result: StoredResult | Unreadable,
  of: { procedure: string; serializer: Serializer },
): unknown {
  if (result !== null && typeof result !== 'string')
    throw refusal('RESULT_NOT_READABLE', of, { attemptOutcome: 'UNKNOWN' })
  return readable(() => fromText(result, of.serializer), of, 'UNKNOWN')
}

/** The same for a final error. What it says of its own effect is in it, and cannot be read either. */
export function readErrorShape(text: string, of: { procedure: string }): ErrorShape {
  const shape = readable(() => fromText(text, jsonSerializer), of, 'UNKNOWN')
  if (!isErrorShape(shape)) throw refusal('RESULT_NOT_READABLE', of, { attemptOutcome: 'UNKNOWN' })
  return shape
}

function readable(read: () => unknown, of: { procedure: string }, attemptOutcome: 'EXECUTED' | 'UNKNOWN'): unknown {
  try {
    return read()
  } catch (cause) {
    throw refusal('RESULT_NOT_READABLE', of, { attemptOutcome, cause })
  }
}
