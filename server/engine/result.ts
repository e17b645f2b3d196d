import type { StoredResult } from './record.js'
import { type Serializer, toText } from './serializer.js'
import { findTransient } from './transient.js'

/** A result ready to be stored, or the end of a sentence that says of it why it cannot be. */
export type Storable =
  | { ok: true; result: StoredResult }
  | { ok: false; reason: 'RESULT_NOT_STORABLE' | 'RESULT_TOO_LARGE'; complaint: string; cause?: unknown }

/**
 * Turns what a handler returned into what is stored and replayed. Done inside the transaction, so that a result which
 * cannot be stored undoes the work: the caller could never be given it again.
 *
 * @param maxBytes of the result's text in UTF-8
 */
export function toStorable(data: unknown, serializer: Serializer, maxBytes: number): Storable {
  const transient = findTransient(data)
  if (transient !== undefined) {
    return { ok: false, reason: 'RESULT_NOT_STORABLE', complaint: `holds ${transient}` }
  }
  let result: StoredResult
  try {
    result = toText(data, serializer)
  } catch (cause) {
    return { ok: false, reason: 'RESULT_NOT_STORABLE', complaint: 'was refused by the serializer', cause }
  }
  const bytes = result === null ? 0 : Buffer.byteLength(result)
  if (bytes > maxBytes) {
    return { ok: false, reason: 'RESULT_TOO_LARGE', complaint: `has ${bytes} bytes, of ${maxBytes} at most` }
  }
  return { ok: true, result }
}
