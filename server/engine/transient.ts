/**
 * Finds what JSON and transformers pass over in silence, though it is no value: it arrives once, or empty, or never.
 *
 * @returns what it is and where, to be read in a sentence
 */
export function findTransient(value: unknown): string | undefined {
  return search(value, '', new Set())
}

function search(value: unknown, path: string, seen: Set<object>): string | undefined {
  if (typeof value !== 'object' || value === null || seen.has(value)) return undefined
  seen.add(value)
  const kind = transientKind(value)
  if (kind !== undefined) return path === '' ? kind : `${kind} at ${path}`
  if (ArrayBuffer.isView(value)) return undefined // a million numbers, and no more
  for (const [name, item] of partsOf(value)) {
    const found = search(item, path === '' ? name : `${path}.${name}`, seen)
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
