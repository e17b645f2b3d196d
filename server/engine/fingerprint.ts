import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import { inOrder } from './inOrder.js'
import type { Fingerprint } from './record.js'
import { type Serializer, toText } from './serializer.js'

/** Raised when the same input would get another fingerprint than before, so that rows of an older version are known. */
const VERSION = 1

/**
 * An input as the transformer would send it, in canonical JSON (RFC 8785): the same text for equal inputs, whatever the
 * order of their properties, and another for any other.
 *
 * @returns `null` for an input that has no JSON at all: `undefined`
 * @throws whatever the serializer throws for an input that it cannot carry; RangeError for one that would unfold to an
 *   immense text
 */
export function canonicalText(input: unknown, serializer: Serializer): string | null {
  const text = toText(inOrder(input), serializer)
  return text === null ? null : (canonicalize(JSON.parse(text)) ?? null)
}

/**
 * Tells a repeat from a reuse: equal for equal inputs of one procedure, different for any other.
 *
 * @param input in canonical form, taken before any handler could change it
 */
export function fingerprint(procedure: string, input: string | null): Fingerprint {
  // The path ends where the line ends, for no path holds a line break. No input has an empty text but undefined.
  const digest = createHash('sha256')
    .update(`${procedure}\n${input ?? ''}`)
    .digest()
  const bytes = new Uint8Array(1 + digest.length)
  bytes[0] = VERSION
  bytes.set(digest, 1)
  return bytes as Fingerprint
}

/** Whether a fingerprint can be compared with ours: of another version, the same input has another one. */
export function isComparable(fingerprint: Uint8Array): boolean {
  return fingerprint[0] === VERSION
}

/** Whether two fingerprints are the same. */
export function sameFingerprint(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
