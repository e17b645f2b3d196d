import { randomInt } from 'node:crypto'
import { BadOption, number, readOptions as readCommandLine, wholeNumber } from '../support/options.js'

/** What a run of the example is told. */
export interface PaymentsOptions {
  /** How many checkouts are wanted, each by a customer of its own. */
  intents: number
  /** How often a server of the shop is killed while it charges. */
  kills: number
  /** Which part of the provider's calls is charged and not answered. */
  faults: number
  /** How many customers check out at the same time. */
  concurrency: number
  /** Decides which calls are not answered, and during which charges a server is killed. */
  seed: number
  json: boolean
}

export const HELP = `npm run example:payments -- [options]

Charges customers through a provider that sometimes charges and does not answer, in a shop whose servers are killed while
they charge. Then it compares what customers wanted, what the provider charged and what the shop recorded.

  --intents <n>      how many checkouts are wanted, 1 to 10000 (60)
  --kills <n>        how often a server of the shop is killed, 0 to as many as there are intents (6)
  --faults <part>    the part of the calls that the provider charges and does not answer, 0 to 0.9 (0.3)
  --concurrency <n>  how many customers check out at the same time, 1 to 100 (8)
  --seed <n>         repeats a plan: the same seed, the same faults and the same kills (random)
  --json             print the ledger as one JSON object, and nothing else
  --help             print this text`

const MOST_INTENTS = 10_000
/** Enough that every moment is met, in a run that is over before one loses patience: each kill costs a new server. */
const USUAL_KILLS = 6

const values = {
  intents: wholeNumber(1, MOST_INTENTS).default(60),
  kills: wholeNumber(0, MOST_INTENTS).optional(),
  // Past 0.9 the example would test patience: at one answer in ten, a checkout takes ten calls on average.
  faults: number(0, 0.9).default(0.3),
  concurrency: wholeNumber(1, 100).default(8),
  seed: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(() => randomInt(1_000_000)),
}

/**
 * Reads the command line.
 *
 * @returns `'help'` where that is asked for
 * @throws BadOption
 */
export function readOptions(args: string[]): PaymentsOptions | 'help' {
  const read = readCommandLine(args, values)
  if (read === 'help') return read
  const { intents, kills = Math.min(USUAL_KILLS, intents) } = read
  // Each kill is planned for the charge of another customer.
  if (kills > intents)
    throw new BadOption(`--kills must be at most the number of intents (${intents}), got '${kills}'.`)
  return { ...read, kills }
}
