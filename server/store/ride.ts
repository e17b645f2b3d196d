import { AsyncLocalStorage } from 'node:async_hooks'
import { ClosingFailed, type RunSql, type Statement } from './sqlDatabase.js'

/** What of a transaction can travel with its BEGIN and its COMMIT, on a connection that takes it along. */
export interface Ride {
  /** The rows of the opening, or its failure; `undefined` where nobody took it along: then it is to be sent. */
  opened<Row>(): Promise<Row[]> | undefined
  /** Gives a statement along with COMMIT; `false` where nobody takes it. */
  close(closing: Statement): boolean
  /** How many statements were seen on the connection; `undefined` where nobody looks. */
  seen(): number | undefined
  /** What runs single statements on the same database, each in a transaction of its own; `undefined` where nobody does. */
  direct(): Direct | undefined
}

/** Gives what runs a statement past the client; `undefined` once the connections that it would use are closed. */
export type Direct = () => RunSql | undefined

/** The same for the connection that takes it along. */
export interface TakenRide {
  readonly opened: Promise<unknown[]>
  seen: number
  /** Whether it sees COMMIT, and can send something along with it. */
  readonly closes: boolean
  readonly direct: Direct
  closing: Statement | undefined
  closingSent: boolean
  /** Why the closing did not take effect, where that is known. */
  failure: ClosingFailed | undefined
}

/** A ride that somebody has taken on, and not yet begun. */
export interface WaitingRide {
  readonly opening: Statement
  /** @param opened the rows of the opening, which was sent together with BEGIN */
  begin(opened: Promise<unknown[]>, connection: Pick<TakenRide, 'closes' | 'direct'>): TakenRide
}

/** The slot in which a ride waits for the transaction that is opened for it. */
interface Slot {
  waiting: Statement | undefined
  taken: TakenRide | undefined
}

/**
 * Here, and not in a variable of this module: an adapter that is wrapped in one copy of this package is to take rides of
 * another. It is there once an adapter is wrapped, so that nobody else pays for it.
 */
const SLOTS = Symbol.for('trpc-idempotency.rides')

interface Slots {
  [SLOTS]?: AsyncLocalStorage<Slot>
}

/** From now on, transactions look for a connection that takes them along. */
export function startRides(): void {
  const slots = globalThis as Slots
  slots[SLOTS] ??= new AsyncLocalStorage()
}

/** Opens a transaction with a ride in its slot, where there may be somebody who takes it. */
export async function offerRide<T>(
  opening: Statement | undefined,
  open: (ride: Ride | undefined) => Promise<T>,
): Promise<T> {
  const slots = (globalThis as Slots)[SLOTS]
  if (slots === undefined || opening === undefined) return open(undefined)
  const slot: Slot = { waiting: opening, taken: undefined }
  const ride: Ride = {
    opened: <Row>() => slot.taken?.opened as Promise<Row[]> | undefined,
    close(closing) {
      if (!slot.taken?.closes) return false
      slot.taken.closing = closing
      return true
    },
    seen: () => slot.taken?.seen,
    direct: () => slot.taken?.direct,
  }
  let value: T
  try {
    value = await slots.run(slot, () => open(ride))
  } catch (error) {
    if (slot.taken?.failure !== undefined) throw slot.taken.failure
    // Without it there was no COMMIT either: Prisma's timeout, for one, came first.
    if (isLeftBehind(slot)) throw new ClosingFailed('the transaction ended before COMMIT was sent', { cause: error })
    throw error
  } finally {
    slot.waiting = undefined
  }
  if (isLeftBehind(slot)) throw new Error('a transaction was committed past the connection that was to close it')
  return value
}

/** Whether a closing was given along and never sent. */
function isLeftBehind({ taken }: Slot): boolean {
  return taken?.closing !== undefined && !taken.closingSent
}

/**
 * Takes the ride that waits for the transaction which the caller opens. Once: what else its handler opens, in the same
 * asynchronous context, is none of it.
 *
 * @returns `undefined` where none waits
 */
export function takeRide(): WaitingRide | undefined {
  const slot = (globalThis as Slots)[SLOTS]?.getStore()
  if (slot?.waiting === undefined) return undefined
  const opening = slot.waiting
  slot.waiting = undefined
  return {
    opening,
    begin(opened, connection) {
      // Waited for later: until then its failure is nobody's.
      opened.catch(() => undefined)
      slot.taken = { ...connection, opened, seen: 0, closing: undefined, closingSent: false, failure: undefined }
      return slot.taken
    },
  }
}
