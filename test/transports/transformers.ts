import { parse, stringify } from 'devalue'
import superjson from 'superjson'
import type { Serializer } from 'trpc-idempotency/server'

/** A way of putting values on the wire, with a value to be sent there and back. */
export interface Carrying {
  name: 'no transformer' | 'superjson' | 'devalue'
  transformer: Serializer | undefined
  note: unknown
  /** What is left of the note at the end of the way. */
  arrives: unknown
}

/** What JSON loses, and these transformers do not. */
export const richNote = {
  date: new Date(86_400_000),
  bigint: 2n ** 64n,
  map: new Map<string, unknown>([['a', new Date(0)]]),
  set: new Set([1, '1', undefined]),
  undefined: undefined,
  minusZero: -0,
  notANumber: Number.NaN,
}

// In the server's own process there is no wire, and what JSON loses is lost all the same.
const plainNote = { date: new Date(86_400_000), undefined: undefined, text: 'a\0b', list: [1, { nothing: null }] }
const plainNoteArrives = { date: '1970-01-02T00:00:00.000Z', text: 'a\0b', list: [1, { nothing: null }] }

const devalue: Serializer = { serialize: (value) => stringify(value), deserialize: (text: string) => parse(text) }

const rich = { note: richNote, arrives: richNote }

export const none: Carrying = {
  name: 'no transformer',
  transformer: undefined,
  note: plainNote,
  arrives: plainNoteArrives,
}
export const withSuperjson: Carrying = { name: 'superjson', transformer: superjson, ...rich }
export const withDevalue: Carrying = { name: 'devalue', transformer: devalue, ...rich }
