import { type Carried, isAttempt } from './carried.js'

/** The header that carries keys for uploads and for other clients. */
export const KEY_HEADER = 'idempotency-key'

/** One entry of the header: `"key"`, or `"key";attempt=2`. A string of RFC 9651 with a parameter. */
export function headerEntry({ key, attempt }: Carried): string {
  const string = `"${key.replace(/["\\]/g, '\\$&')}"`
  return attempt > 1 ? `${string};attempt=${attempt}` : string
}

/** What stands in one place of the header. */
export type HeaderEntry = { kind: 'none' } | { kind: 'malformed' } | { kind: 'carried'; carried: Carried }

/** A string or a bare token, its parameters, and the comma or the end after it. */
const ENTRY =
  /(?:"((?:[ !#-[\]-~]|\\["\\])*)"|([^\s",;]*))((?:[ \t]*;[ \t]*[a-z*][\w.*-]*(?:=(?:"(?:[ !#-[\]-~]|\\["\\])*"|[^\s",;]*))?)*)[ \t]*(?:,|$)/y

/**
 * Reads one entry of the header: a single key for a single call, a list for a batch, with `""` where a call has none. A
 * bare token is taken for a string, as other clients write it.
 *
 * @param index the call's place in its batch
 */
export function readHeaderEntry(value: string, index: number): HeaderEntry {
  let end = 0
  for (let place = 0; ; place += 1) {
    // Past its end the list has nothing for this call.
    if (place > 0 && end >= value.length) return { kind: 'none' }
    // Not by the expression: it would try each length of the white space.
    while (value[end] === ' ' || value[end] === '\t') end += 1
    ENTRY.lastIndex = end
    const entry = ENTRY.exec(value)
    if (entry === null) return { kind: 'malformed' }
    end = ENTRY.lastIndex
    if (place === index) return read(entry)
  }
}

function read([, string, token = '', parameters = '']: RegExpExecArray): HeaderEntry {
  const key = string?.replace(/\\(.)/g, '$1') ?? token
  if (key === '') return { kind: 'none' }
  const [, given] = /;[ \t]*attempt=([^\s;]*)/.exec(parameters) ?? []
  const attempt = given === undefined ? 1 : Number(given)
  return isAttempt(attempt) ? { kind: 'carried', carried: { key, attempt } } : { kind: 'malformed' }
}
