import { randomInt } from 'node:crypto'
import { number, readOptions as readCommandLine, wholeNumber } from '../support/options.js'

/** What a run of the demo is told. */
export interface DemoOptions {
  /** How many orders are wanted, each by a customer of its own. */
  intents: number
  /** Which part of the replies the network loses. */
  loss: number
  /** Which part of the requests the network delivers twice. */
  twice: number
  /** How many customers order at the same time. */
  concurrency: number
  /** Decides what the network does; the same number, the same run. */
  seed: number
  json: boolean
}

export const HELP = `npm start -- [options]

Places orders over a network that loses replies and delivers requests twice: once with a plain retry, once with an
idempotent mutation. Then it counts what is in the database.

  --intents <n>      how many orders are wanted, 1 to 100000 (200)
  --loss <part>      the part of the replies that is lost after the work is done, 0 to 0.95 (0.3333)
  --twice <part>     the part of the requests that is delivered twice, 0 to 1 (0.1)
  --concurrency <n>  how many customers order at the same time, 1 to 100 (8)
  --seed <n>         repeats a run: the same seed, the same losses (random)
  --json             print the counts as one JSON object, and nothing else
  --help             print this text`

const values = {
  intents: wholeNumber(1, 100_000).default(200),
  // Past 0.95 the demo would test patience: at one reply in twenty, an order takes twenty requests on average.
  loss: number(0, 0.95).default(0.3333),
  twice: number(0, 1).default(0.1),
  concurrency: wholeNumber(1, 100).default(8),
  seed: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(() => randomInt(1_000_000)),
}

/**
 * Reads the command line.
 *
 * @returns `'help'` where that is asked for
 * @throws BadOption
 */
export function readOptions(args: string[]): DemoOptions | 'help' {
  return readCommandLine(args, values)
}
