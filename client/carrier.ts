import { isOctetType, type Operation } from '@trpc/client'
import type { Carried } from '../wire/carried.js'
import { wrap } from '../wire/envelope.js'

/** How keys travel: inside the input, or in the header `Idempotency-Key` of the HTTP request. */
export type Carrier = 'input' | 'header'

/** What `idempotencyHeaders` made of a key; `waiting` where nobody asked for it. */
export type HeaderState = 'waiting' | 'sent' | 'refused'

/** What an attempt leaves in its operation's context for the ending link's `headers`, and finds there afterwards. */
export interface HeaderCarried extends Carried {
  state: HeaderState
}

/** A registered symbol, so that a second copy of this package finds it too. */
export const HEADER_CARRIED = Symbol.for('trpc-idempotency.headerCarried')

/** An attempt on its way: the operation that carries its key, and what becomes of the header where it goes by one. */
export interface Carrying {
  op: Operation
  header: HeaderCarried | undefined
}

/** Gives an operation its key. Neither the caller's input nor its context, which others may share, is written to. */
export function carry(op: Operation, carried: Carried, carrier: Carrier): Carrying {
  // Bytes have no room for a key.
  if (carrier === 'input' && !isOctetType(op.input)) {
    return { op: { ...op, input: wrap(op.input, carried) }, header: undefined }
  }
  const header: HeaderCarried = { ...carried, state: 'waiting' }
  return { op: { ...op, context: { ...op.context, [HEADER_CARRIED]: header } }, header }
}
