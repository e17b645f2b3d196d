import { validate, version } from 'uuid'
import type { IdempotencyKey } from './record.js'

/** A key, or a sentence that says what is wrong with it. */
export type CheckedKey = { ok: true; key: IdempotencyKey; birth: number } | { ok: false; complaint: string }

/**
 * Checks that a key is a UUIDv7 in lower case and reads its birth: the first 48 bits, in milliseconds since 1970.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9562#name-uuid-version-7
 */
export function checkKey(given: string): CheckedKey {
  if (!validate(given) || version(given) !== 7) return { ok: false, complaint: `${described(given)} is no UUIDv7` }
  // Two spellings of one key would be two operations.
  if (given !== given.toLowerCase()) return { ok: false, complaint: 'A UUIDv7 must be in lower case' }
  return { ok: true, key: given as IdempotencyKey, birth: Number.parseInt(given.slice(0, 8) + given.slice(9, 13), 16) }
}

/** What a forgotten value looks like once it was made a text. */
const FORGOTTEN = new Set(['undefined', 'null', 'NaN', 'true', 'false', '[object Object]', '[object Promise]'])

/** What was sent in the key's place is not shown: it could be a key all the same, or anything, and messages are logged. */
function described(given: string): string {
  if (FORGOTTEN.has(given)) return `'${given}'`
  return validate(given) ? `A UUID of version ${version(given)}` : `A text of ${given.length} characters`
}
