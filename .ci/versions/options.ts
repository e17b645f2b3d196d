import { parseArgs } from 'node:util'
import { ROWS, type Row } from './rows.js'

/** A command line that cannot be used; the message says what can. */
export class BadOption extends Error {
  override readonly name = 'BadOption'
}

export type Asked = { kind: 'help' } | { kind: 'list' } | { kind: 'run'; rows: Row[] }

export const HELP = `Runs the tests with the oldest and the newest versions of what the library works with.

  .ci/matrix [--small] [--tests "FOLDER FILE ..."] [ROW ...]

  ROW ...   these rows; left out: all of them
  --small   the rows and the tests that CI runs
  --tests   these tests, instead of those that the row names
  --list    names the rows
  --help    says this

Each row has a copy of the working tree, without what git ignores, and packages of its own. Nothing here is changed.`

/** @throws BadOption */
export function readOptions(args: string[]): Asked {
  const { values, positionals: names } = parsed(args)
  if (values.help) return { kind: 'help' }
  const small = values.small ? ROWS.filter((row) => row.small.length > 0) : ROWS
  const known = small.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new BadOption(`There is no row '${unknown}'${values.small ? ' in the small part' : ''}: ${known.join(', ')}.`)
  }
  if (values.list) return { kind: 'list' }
  const tests = values.tests?.split(/\s+/).filter((name) => name !== '')
  if (tests?.length === 0) throw new BadOption('--tests names folders or files of tests, got an empty text.')
  const rows = small
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((row) => ({ ...row, tests: tests ?? (values.small ? row.small : row.tests) }))
  return { kind: 'run', rows }
}

function parsed(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        tests: { type: 'string' },
        small: { type: 'boolean', default: false },
        list: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    // Of parseArgs' complaint the first sentence; the others say how to pass a row whose name starts with a hyphen.
    const [complaint] = (error as Error).message.split('. ')
    throw new BadOption(`${complaint}. The options are --tests "...", --small, --list and --help.`)
  }
}
