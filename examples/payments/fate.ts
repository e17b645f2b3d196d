import { chances } from '../support/chances.js'

/** What becomes of the provider's answer to one call. It has charged in any case. */
export type Fate = 'answer' | 'silence' | 'cut'

export interface Faults {
  /** The part of the calls that is not answered. */
  faults: number
  seed: number
}

/** Decides about the n-th call for a customer. It depends on nothing else, so a seed repeats it. */
export function fateOf(customer: string, nth: number, { faults, seed }: Faults): Fate {
  const [forFault, forKind] = chances(seed, `${customer}/${nth}`)
  if (forFault >= faults) return 'answer'
  return forKind < 0.5 ? 'silence' : 'cut'
}
