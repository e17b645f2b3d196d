import { randomInt } from 'node:crypto'
import { number, readOptions as readCommandLine, wholeNumber } from '../../examples/support/options.js'

/** What a run is told. */
export interface ChaosOptions {
  /** For how long things go wrong. */
  minutes: number
  /** Decides what goes wrong. */
  seed: number
  json: boolean
}

export const HELP = `npm run chaos -- [options]

Lets 16 clients order and pay at 3 servers on one Postgres, while the network between them cuts, delays, truncates and
delivers twice, and servers and Postgres are killed, stopped and started again. Then a checker reads what every attempt
was told and what is in the database. Exit code 1: something was promised that does not hold.

  --minutes <n>      for how long things go wrong, 0.05 to 1440 (1)
  --seed <n>         repeats a plan: the same seed, the same faults (random)
  --json             print the counts as one JSON object, and nothing else
  --help             print this text`

const DAY_IN_MINUTES = 1440

const values = {
  // Below three seconds no server would be killed.
  minutes: number(0.05, DAY_IN_MINUTES).default(1),
  seed: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(() => randomInt(1_000_000)),
}

/**
 * Reads the command line.
 *
 * @returns `'help'` where that is asked for
 * @throws BadOption
 */
export function readOptions(args: string[]): ChaosOptions | 'help' {
  return readCommandLine(args, values)
}
