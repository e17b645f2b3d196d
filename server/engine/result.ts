import type { Outcome, StoredResult } from './record.js'
import { type Serializer, toText } from './serializer.js'
import { findTransient } from './transient.js'

/** What is wrong with a result that cannot be stored: the end of a sentence. */
export interface NotStorable {
  ok: false
  reason: 'RESULT_NOT_STORABLE' | 'RESULT_TOO_LARGE'
  complaint: string
  cause?: unknown
}

/** A result ready to be stored, or why it cannot be. */
export type Storable = { ok: true; result: StoredResult } | NotStorable

/**
 * Turns what a handler returned into what is stored and replayed. Done inside the transaction, so that a result which
 * cannot be stored undoes the work: the caller could never be given it again.
 *
 * @param maxBytes of the result's text in UTF-8
 */
export function toStorable(data: unknown, serializer: Serializer, maxBytes: number): Storable {
  try {
    const transient = findTransient(data)
    if (transient !== undefined) {
      return { ok: false, reason: 'RESULT_NOT_STORABLE', complaint: `holds ${transient}` }
    }
    const result = toText(data, serializer)
    return tooLarge(result, maxBytes) ?? { ok: true, result }
  } catch (cause) {
    return { ok: false, reason: 'RESULT_NOT_STORABLE', complaint: 'was refused by the serializer', cause }
  }
}

/** The same for a final error, whose shape is text already. */
export function errorToStorable(shape: string, maxBytes: number): { ok: true; outcome: Outcome } | NotStorable {
  return tooLarge(shape, maxBytes) ?? { ok: true, outcome: { kind: 'error', shape } }
}

function tooLarge(text: string | null, maxBytes: number): NotStorable | undefined {
  const bytes = text === null ? 0 : Buffer.byteLength(text)
  if (bytes <= maxBytes) return undefined
  return { ok: false, reason: 'RESULT_TOO_LARGE', complaint: `has ${bytes} bytes, of ${maxBytes} at most` }
}
