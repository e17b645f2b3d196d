import { AsyncLocalStorage } from 'node:async_hooks'
import { ClosingFailed, type Statement } from './sqlDatabase.js'

/** What of a transaction can travel with its BEGIN and its COMMIT, on a connection that takes it along. */
export interface Ride {
  /** The rows of the opening, or its failure; `undefined` where nobody took it along: then it is to be sent. */
  opened<Row>(): Promise<Row[]> | undefined
  /** Gives a statement along with COMMIT; `false` where nobody takes it. */
  close(closing: Statement): boolean
  /** How many statements were seen on the connection; `undefined` where nobody looks. */
  seen(): number | undefined
}

/** The same for the connection that takes it along. */
export interface TakenRide {
  readonly opening: Statement
  opened: Promise<unknown[]>
  seen: number
  closing: Statement | undefined
  closingSent: boolean
  /** Why the closing did not take effect, where that is known. */
  failure: ClosingFailed | undefined
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
      if (slot.taken === undefined) return false
      slot.taken.closing = closing
      return true
    },
    seen: () => slot.taken?.seen,
  }
  try {
    return await slots.run(slot, () => open(ride))
  } catch (error) {
    const { taken } = slot
    if (taken?.failure !== undefined) throw taken.failure
    // Without it there was no COMMIT either: Prisma's timeout, for one, came first.
    if (taken?.closing !== undefined && !taken.closingSent) {
      throw new ClosingFailed('the transaction ended before COMMIT was sent', { cause: error })
    }
    throw error
  } finally {
    slot.waiting = undefined
  }
}

/**
 * Takes the ride that waits for the transaction which the caller opens. Once: what else its handler opens, in the same
 * asynchronous context, is none of it.
 *
 * @param begin sends BEGIN together with the opening, and gives the opening's rows
 */
export function takeRide():
  | (Pick<TakenRide, 'opening'> & { begin(opened: Promise<unknown[]>): TakenRide })
  | undefined {
  const slot = (globalThis as Slots)[SLOTS]?.getStore()
  if (slot?.waiting === undefined) return undefined
  const opening = slot.waiting
  slot.waiting = undefined
  return {
    opening,
    begin(opened) {
      // Waited for later: until then its failure is nobody's.
      opened.catch(() => undefined)
      slot.taken = { opening, opened, seen: 0, closing: undefined, closingSent: false, failure: undefined }
      return slot.taken
    },
  }
}
