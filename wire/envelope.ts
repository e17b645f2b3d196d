import { type Carried, isAttempt } from './carried.js'
import { headerEntry, readHeaderEntry } from './header.js'

/** Under this name the key travels, in band, inside the input of a call. */
const CARRIED = '~idempotency'
/** And under this one the input that the caller gave. */
const INPUT = '~input'

/** An input with its key. The transformer and the transport see an ordinary object. */
export interface Envelope {
  [CARRIED]: Carried
  [INPUT]?: unknown
}

/** Puts a key beside an input. The input itself is passed on as it is. A FormData is copied, with one more field. */
export function wrap(input: unknown, { key, attempt }: Carried): Envelope | FormData {
  if (!isFormData(input)) return { [CARRIED]: { key, attempt }, [INPUT]: input }
  const form = copyForm(input)
  form.append(CARRIED, headerEntry({ key, attempt }))
  return form
}

export type Unwrapped =
  /** No envelope: a caller that knows nothing of keys, or sends them in the header. */
  | { kind: 'bare' }
  /** Something in the key's place that this library did not put there. */
  | { kind: 'malformed' }
  | { kind: 'enveloped'; carried: Carried; input: unknown }

/** Takes an input apart again. Nothing about its form is trusted: it came over the network. */
export function unwrap(raw: unknown): Unwrapped {
  if (isFormData(raw)) return unwrapForm(raw)
  if (!isRecord(raw) || !Object.hasOwn(raw, CARRIED)) return { kind: 'bare' }
  const carried = raw[CARRIED]
  if (typeof carried === 'string' && !Object.hasOwn(raw, INPUT)) return unwrapFields(raw, carried)
  if (!isRecord(carried)) return { kind: 'malformed' }
  const { key, attempt } = carried
  if (typeof key !== 'string' || !isAttempt(attempt)) return { kind: 'malformed' }
  return { kind: 'enveloped', carried: { key, attempt }, input: raw[INPUT] }
}

function unwrapForm(raw: FormData): Unwrapped {
  const [field, ...others] = raw.getAll(CARRIED)
  if (field === undefined) return { kind: 'bare' }
  const entry = typeof field === 'string' && others.length === 0 ? readHeaderEntry(field, 0) : undefined
  if (entry?.kind !== 'carried') return { kind: 'malformed' }
  const input = copyForm(raw)
  input.delete(CARRIED)
  return { kind: 'enveloped', carried: entry.carried, input }
}

/** A form that became an object on its way, as those of server actions do. */
function unwrapFields({ [CARRIED]: _, ...input }: Record<string, unknown>, field: string): Unwrapped {
  const entry = readHeaderEntry(field, 0)
  return entry.kind === 'carried' ? { kind: 'enveloped', carried: entry.carried, input } : { kind: 'malformed' }
}

/** A form with the same entries in the same order. */
export function copyForm(form: FormData): FormData {
  const copy = new FormData()
  for (const [name, value] of form) copy.append(name, value)
  return copy
}

function isFormData(value: unknown): value is FormData {
  return typeof FormData !== 'undefined' && value instanceof FormData
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
