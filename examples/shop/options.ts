import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { z } from 'zod'

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

/** An option that cannot be used; the message names the option, its bounds and the value. */
export class BadOption extends Error {
  override readonly name = 'BadOption'
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

const schema = z.strictObject({
  intents: wholeNumber(1, 100_000).default(200),
  // Past 0.95 the demo would test patience: at one reply in twenty, an order takes twenty requests on average.
  loss: number(0, 0.95).default(0.3333),
  twice: number(0, 1).default(0.1),
  concurrency: wholeNumber(1, 100).default(8),
  seed: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(() => randomInt(1_000_000)),
  json: flag(),
  help: flag(),
})

/**
 * Reads the command line.
 *
 * @returns `'help'` where that is asked for
 * @throws BadOption
 */
export function readOptions(args: string[]): DemoOptions | 'help' {
  const text = { type: 'string' } as const
  const options = { intents: text, loss: text, twice: text, concurrency: text, seed: text }
  const switches = { json: { type: 'boolean' }, help: { type: 'boolean' } } as const
  // Not strict: parseArgs' own complaints name neither bounds nor values.
  const { values, positionals } = parseArgs({ args, options: { ...options, ...switches }, strict: false })
  const parsed = schema.safeParse(values)
  if (!parsed.success) throw new BadOption(complaint(parsed.error, values))
  if (positionals[0] !== undefined) throw new BadOption(`There is no argument '${positionals[0]}'; see --help.`)
  const { help, ...demo } = parsed.data
  return help ? 'help' : demo
}

function complaint({ issues: [issue] }: z.ZodError, values: Record<string, unknown>): string {
  if (issue?.code === 'unrecognized_keys') return `There is no option --${issue.keys[0]}; see --help.`
  const name = String(issue?.path[0])
  const value = values[name]
  return `--${name} ${issue?.message}, got ${typeof value === 'string' ? `'${value}'` : 'no value'}.`
}

function wholeNumber(least: number, most: number) {
  return numberLike(/^-?\d+$/, { least, most, bound: `must be a whole number from ${least} to ${most}` })
}

function number(least: number, most: number) {
  return numberLike(/^-?(\d+\.?\d*|\.\d+)$/, { least, most, bound: `must be a number from ${least} to ${most}` })
}

/** Only what is written like a number: `Number` alone takes '' for 0. */
function numberLike(form: RegExp, { least, most, bound }: { least: number; most: number; bound: string }) {
  return z
    .string(bound)
    .refine((text) => form.test(text) && Number(text) >= least && Number(text) <= most, bound)
    .transform(Number)
}

function flag() {
  return z.boolean('takes no value').default(false)
}
