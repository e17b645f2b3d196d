import type { SqlParameter } from '../sqlDatabase.js'

/** A parameter as it goes over the wire. */
export function toWire(parameter: SqlParameter): string | Buffer | null {
  if (parameter === null) return null
  return parameter instanceof Uint8Array ? Buffer.from(parameter) : String(parameter)
}

/** What our statements return beside texts, by Postgres' numbers for types. */
const READERS: Record<number, (text: string) => unknown> = {
  16: (text) => text === 't', // boolean
  17: (text) => Buffer.from(text.slice(2), 'hex'), // bytea, which begins with \x
  23: Number, // integer
  701: Number, // double precision
}

/**
 * A value as it came over the wire. By readers of our own: those of node-postgres are the application's to replace.
 *
 * @param type Postgres' number for the type
 */
export function fromWire(type: number, text: string | null): unknown {
  return text === null ? null : (READERS[type]?.(text) ?? text)
}
