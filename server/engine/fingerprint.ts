import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { inOrder } from './inOrder.js'
import type { Fingerprint } from './record.js'
import { type Serializer, toText } from './serializer.js'

/** Raised when the same input would get another fingerprint than before, so that rows of an older version are known. */
const VERSION = 1

/**
 * Tells a repeat from a reuse: equal for equal inputs of one procedure, whatever the order of their properties, and
 * different for any other. Taken over the input as the transformer would send it, in canonical JSON (RFC 8785).
 *
 * @param input the input as the caller gave it, before any handler could change it
 * @throws whatever the serializer throws for an input that it cannot carry; RangeError for one that would unfold to an
 *   immense text
 */
export function fingerprint(procedure: string, input: unknown, serializer: Serializer): Fingerprint {
  const text = toText(inOrder(input), serializer)
  // An input that is undefined is no input that is null: it has no JSON, so it has no text here either.
  const canonical = text === null ? '' : canonicalize(JSON.parse(text))
  const hash = createHash('sha256')
  // The path ends where the line ends; no path holds a line break, so no two pairs read alike.
  hash.update(`${procedure}\n${canonical}`)
  const bytes = new Uint8Array(33)
  bytes[0] = VERSION
  bytes.set(hash.digest(), 1)
  return bytes as Fingerprint
}

/** Whether two fingerprints are the same. */
export function sameFingerprint(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
