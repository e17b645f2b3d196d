import { chances } from '../../examples/support/chances.js'
import type { Intent } from './history.js'

/** What is done with an intent, apart from sending it until its outcome is known. */
export interface PlannedIntent extends Intent {
  /** Sent by two clients at the same time. */
  raced: boolean
  /** How long after its answer it is sent once more, in ms; 0 where it is not. */
  againAfterMs: number
  /** Whether its client leaves it at a failure of which it is sure that nothing was executed. */
  givesUp: boolean
}

const CUSTOMERS = 8
const ODDS = { checkout: 0.2, raced: 0.06, aged: 0.05, again: 0.05, givesUp: 0.5 }
/** By then some of those that are aged are swept. */
const LONGEST_MEMORY_MS = 8000

/** What the n-th intent of a run is. It depends on nothing but that and the seed. */
export function planIntent(seed: number, number: number): PlannedIntent {
  const [forProcedure, forRace, forAge] = chances(seed, `intent ${number}`)
  const [forAgain, forLength, forPatience] = chances(seed, `intent ${number}, later`)
  const aged = forAge < ODDS.aged
  return {
    number,
    customer: `customer-${number % CUSTOMERS}`,
    procedure: forProcedure < ODDS.checkout ? 'checkout' : 'order.createOnce',
    raced: forRace < ODDS.raced,
    aged,
    againAfterMs: aged || forAgain < ODDS.again ? forLength * LONGEST_MEMORY_MS : 0,
    givesUp: forPatience < ODDS.givesUp,
  }
}
