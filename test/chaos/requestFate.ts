import { chances } from '../../examples/support/chances.js'
import type { Fault } from '../support/httpFaults.js'

/** What the network does to one request. */
export interface RequestFate {
  fault: Fault
  /** How long the request is under way, and how long its answer, in ms. */
  delayMs: { request: number; answer: number }
  /** Whether the request reaches a server a second time, and how long after the first time that is, in ms. */
  again: 'no' | 'at once' | 'afterwards' | 'late'
}

export const HARMLESS: RequestFate = { fault: 'pass', delayMs: { request: 0, answer: 0 }, again: 'no' }

const FAULTS: readonly Fault[] = ['cutBefore', 'cutAfter', 'resetAfter', 'cutBody', 'halfBody', '502 HTML', '502 JSON']

/** Parts of the requests that are hit. One in five is, so that a call with its attempts meets a fault more often than not. */
const ODDS = { fault: 0.1, delay: 0.06, again: 0.07 }
/** The longest of the usual delays, and of the few that outlast an attempt. */
const DELAYS_MS = { usual: 200, long: 2500 }
const PART_OF_LONG_DELAYS = 0.1

/** Decides about a request. It depends on nothing but the seed and the name of the request. */
export function requestFate(seed: number, name: string): RequestFate {
  const [forFault, forKind] = chances(seed, `${name}/fault`)
  const [forDelay, forLength, forSide] = chances(seed, `${name}/delay`)
  const [forAgain, forMoment] = chances(seed, `${name}/again`)
  const delayed = forDelay < ODDS.delay
  const isLong = forDelay < ODDS.delay * PART_OF_LONG_DELAYS
  const ms = delayed ? forLength * (isLong ? DELAYS_MS.long : DELAYS_MS.usual) : 0
  return {
    fault: forFault < ODDS.fault ? pick(FAULTS, forKind) : 'pass',
    delayMs: forSide < 0.5 ? { request: ms, answer: 0 } : { request: 0, answer: ms },
    again: forAgain < ODDS.again ? pick(['at once', 'afterwards', 'late'], forMoment) : 'no',
  }
}

function pick<Choice>(choices: readonly Choice[], chance: number): Choice {
  return choices[Math.floor(chance * choices.length)] as Choice
}
