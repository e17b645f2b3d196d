import type { Scope } from './record.js'

/** A scope, or a sentence that says what is wrong with it. */
export type CheckedScope = { ok: true; scope: Scope } | { ok: false; complaint: string }

/** Together with the longest key, 255 bytes, in UTF-8 still below the 2,704 bytes that a B-tree entry can hold. */
const LONGEST = 512

/** What a forgotten value looks like once a template literal has made text of it. */
const FORGOTTEN = new Set(['undefined', 'null', 'NaN'])

/**
 * Checks that a scope names somebody. A value that was forgotten would put all its owners into one scope, where one is
 * answered with another's result: so it is refused, alone or between separators (`org:undefined`). A part is what
 * stands between characters that are neither letters nor digits.
 */
export function checkScope(given: unknown): CheckedScope {
  if (typeof given !== 'string') return { ok: false, complaint: `it is no text but of type ${typeof given}` }
  if (given.trim() === '') return { ok: false, complaint: 'it is empty' }
  if (given.length > LONGEST)
    return { ok: false, complaint: `it has ${given.length} characters, of ${LONGEST} at most` }
  // Half of a surrogate pair becomes the same replacement character in UTF-8 as any other half.
  if (!given.isWellFormed() || given.includes('\0')) {
    return { ok: false, complaint: 'it holds a character that Postgres cannot store' }
  }
  const forgotten = given.split(/[^\p{L}\p{N}]+/u).find((part) => FORGOTTEN.has(part))
  if (forgotten !== undefined || given.includes('[object ')) {
    return { ok: false, complaint: `it holds '${forgotten ?? '[object'}', which reads like a forgotten value` }
  }
  return { ok: true, scope: given as Scope }
}
