import { createHash } from 'node:crypto'

/** What the network does to one request. */
export interface Fate {
  /** Whether the reply is lost on its way back, after the server did the work. */
  replyLost: boolean
  /** Whether the request reaches the server a second time: while it works on the first, or after that. */
  deliveredAgain: 'no' | 'meanwhile' | 'afterwards'
}

export interface Odds {
  loss: number
  twice: number
  seed: number
}

/**
 * Decides what happens to the n-th request of a customer. It depends on nothing else, so whatever the order in which
 * requests arrive, a seed repeats a run, and both lanes of the demo meet the same network.
 */
export function fateOf(customer: string, nth: number, { loss, twice, seed }: Odds): Fate {
  const digest = createHash('sha256').update(`${seed}/${customer}/${nth}`).digest()
  // Four bytes each: independent, and even over [0, 1).
  const [forLoss, forTwice, forMoment] = [0, 4, 8].map((offset) => digest.readUInt32BE(offset) / 2 ** 32) as [
    number,
    number,
    number,
  ]
  const again = forMoment < 0.5 ? 'meanwhile' : 'afterwards'
  return { replyLost: forLoss < loss, deliveredAgain: forTwice < twice ? again : 'no' }
}
