import type { StoredResult } from './record.js'
import { type Serializer, toText } from './serializer.js'

/** A result ready to be stored, or a sentence that says why it cannot be. */
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
  const transient = findTransient(data, '', new Set())
  if (transient !== undefined) {
    return { ok: false, reason: 'RESULT_NOT_STORABLE', complaint: `The result holds ${transient}` }
  }
  let result: StoredResult
  try {
    result = toText(data, serializer)
  } catch (cause) {
    return { ok: false, reason: 'RESULT_NOT_STORABLE', complaint: 'The serializer refused the result', cause }
  }
  const bytes = result === null ? 0 : Buffer.byteLength(result)
  if (bytes > maxBytes) {
    return { ok: false, reason: 'RESULT_TOO_LARGE', complaint: `The result has ${bytes} bytes, of ${maxBytes} at most` }
  }
  return { ok: true, result }
}

/** What JSON and transformers pass over in silence, though it is no value: it arrives once, or empty, or never. */
function findTransient(value: unknown, path: string, seen: Set<object>): string | undefined {
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  const kind = transientKind(value)
  if (kind !== undefined) return path === '' ? kind : `${kind} at ${path}`
  if (ArrayBuffer.isView(value)) return undefined // a million numbers, and no more
  for (const [name, item] of partsOf(value)) {
    const found = findTransient(item, path === '' ? name : `${path}.${name}`, seen)
    if (found !== undefined) return found
  }
  return undefined
}

function transientKind(value: object): string | undefined {
  if ('then' in value && typeof value.then === 'function') return 'a promise'
  if (Symbol.asyncIterator in value) return 'a stream or an async iterator'
  if (value instanceof ReadableStream || value instanceof WritableStream) return 'a stream'
  if ('subscribe' in value && typeof value.subscribe === 'function') return 'an observable'
  if ('next' in value && typeof value.next === 'function' && Symbol.iterator in value) return 'a generator'
  if (value instanceof Response || value instanceof Request) return 'a Request or Response'
  if (value instanceof Blob) return 'a Blob'
  if (value instanceof FormData) return 'a FormData'
  return undefined
}

function* partsOf(value: object): Iterable<[string, unknown]> {
  if (value instanceof Map) {
    for (const [key, item] of value) {
      yield ['(key)', key]
      yield [String(key), item]
    }
  } else if (value instanceof Set) {
    for (const item of value) yield ['(item)', item]
  } else yield* Object.entries(value)
}
