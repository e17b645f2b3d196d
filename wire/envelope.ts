/** Under this name the key travels, in band, inside the input of a call. */
const CARRIED = '~idempotency'
/** And under this one the input that the caller gave. */
const INPUT = '~input'

/** What accompanies an input: the idempotency key and which attempt at it this is, counted from 1. */
export interface Carried {
  key: string
  attempt: number
}

/** An input with its key. The transformer and the transport see an ordinary object. */
export interface Envelope {
  [CARRIED]: Carried
  [INPUT]?: unknown
}

/** Puts a key beside an input. The input itself is passed on as it is. */
export function wrap(input: unknown, carried: Carried): Envelope {
  return { [CARRIED]: { key: carried.key, attempt: carried.attempt }, [INPUT]: input }
}

export type Unwrapped =
  /** No envelope: a caller that knows nothing of keys. */
  | { kind: 'bare' }
  /** Something in the key's place that this library did not put there. */
  | { kind: 'malformed' }
  | { kind: 'enveloped'; carried: Carried; input: unknown }

/** Takes an input apart again. Nothing about its form is trusted: it came over the network. */
export function unwrap(raw: unknown): Unwrapped {
  if (!isRecord(raw) || !Object.hasOwn(raw, CARRIED)) return { kind: 'bare' }
  const carried = raw[CARRIED]
  if (!isRecord(carried)) return { kind: 'malformed' }
  const { key, attempt } = carried
  if (typeof key !== 'string' || !isAttempt(attempt)) return { kind: 'malformed' }
  return { kind: 'enveloped', carried: { key, attempt }, input: raw[INPUT] }
}

function isAttempt(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
