import { chances } from '../support/chances.js'

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
  const [forLoss, forTwice, forMoment] = chances(seed, `${customer}/${nth}`)
  const again = forMoment < 0.5 ? 'meanwhile' : 'afterwards'
  return { replyLost: forLoss < loss, deliveredAgain: forTwice < twice ? again : 'no' }
}
