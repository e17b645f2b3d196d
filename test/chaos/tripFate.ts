import { chances } from '../../examples/support/chances.js'
import type { Flight } from '../support/databaseRelay.js'

/** What happens to one round trip to the database. */
export type TripFate =
  | { kind: 'pass' }
  | { kind: 'cut before' | 'cut after' | 'truncate' }
  | { kind: 'delay'; ms: number }

const KINDS = ['cut before', 'cut after', 'truncate', 'delay'] as const

/** Each operation takes some eight round trips. A COMMIT is hit more often: there it is hardest to know what happened. */
const ODDS = { commit: 0.02, other: 0.003 }
/** The longest delay, in ms. Some are longer than a transaction may take. */
const LONGEST_DELAY_MS = 1500

/** Decides about the n-th trip of its kind. It depends on nothing else, apart from the seed. */
export function tripFate(seed: number, { statements }: Flight, nth: (kind: string) => number): TripFate {
  const kind = statements.some((statement) => /^commit/i.test(statement)) ? 'commit' : 'other'
  const [forFault, forKind, forLength] = chances(seed, `${kind}/${nth(kind)}`)
  if (forFault >= ODDS[kind]) return { kind: 'pass' }
  const chosen = KINDS[Math.floor(forKind * KINDS.length)] as (typeof KINDS)[number]
  // Squared: most are short.
  return chosen === 'delay' ? { kind: 'delay', ms: forLength ** 2 * LONGEST_DELAY_MS } : { kind: chosen }
}
