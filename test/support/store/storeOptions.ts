import { z } from 'zod'
import { readOptions as readCommandLine } from '../../../examples/support/options.js'

export interface StoreOptions {
  url: string
  /** Whether the tables are there already, and stay. */
  prepared: boolean
}

export const HELP = `npm run test:store -- --url <connection string> [options]

Tries the contract of the store, one sentence after the other, against a database of yours.

  --url <string>  the database, such as postgresql://user@host:5432/name
  --prepared      the three tables are there already, empty, where the connection's search path finds them, and stay:
                  distributed ones, for example. Else they are made, in a schema of their own that is dropped at the end
  --help          print this text`

const EXAMPLE = 'must be a connection string, such as postgresql://user@host:5432/name'

const values = {
  url: z.string(EXAMPLE).refine((text) => /^postgres(ql)?:\/\/./.test(text) && URL.canParse(text), EXAMPLE),
}

/**
 * Reads the command line.
 *
 * @returns `'help'` where that is asked for
 * @throws BadOption
 */
export function readOptions(args: string[]): StoreOptions | 'help' {
  return readCommandLine(args, values, ['prepared'])
}
