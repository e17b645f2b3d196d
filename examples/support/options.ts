import process from 'node:process'
import { parseArgs } from 'node:util'
import { z } from 'zod'

/** An option that cannot be used; the message names the option, its bounds and the value. */
export class BadOption extends Error {
  override readonly name = 'BadOption'
}

/** The options that every example has. */
const switches = z.object({ json: flag(), help: flag() })

/** What the options of `values`, which all take a value, were read as. */
export type ReadOptions<Values extends z.ZodRawShape, Flags extends string = never> = z.output<
  z.ZodObject<Values, z.core.$strict>
> &
  Record<Flags | 'json', boolean>

/**
 * Reads a command line.
 *
 * @param flags names of further options that take no value
 * @returns `'help'` where that is asked for
 * @throws BadOption
 */
export function readOptions<Values extends z.ZodRawShape, Flags extends string = never>(
  args: string[],
  values: Values,
  flags: readonly Flags[] = [],
): ReadOptions<Values, Flags> | 'help' {
  const ofType = (type: 'string' | 'boolean', names: string[]) => names.map((name) => [name, { type }] as const)
  const options = Object.fromEntries([
    ...ofType('string', Object.keys(values)),
    ...ofType('boolean', [...Object.keys(switches.shape), ...flags]),
  ])
  // Not strict: parseArgs' own complaints name neither bounds nor values.
  const { values: given, positionals } = parseArgs({ args, options, strict: false })
  const { json: _json, help: _help, ...others } = given
  const isFlag = (name: string) => (flags as readonly string[]).includes(name)
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !isFlag(name)))
  const parsed = z.strictObject(values).safeParse(rest)
  if (!parsed.success) throw new BadOption(complaint(parsed.error, given))
  const own = Object.fromEntries(flags.map((name) => [name, flag()]))
  const switched = switches.extend(own).safeParse(given)
  if (!switched.success) throw new BadOption(complaint(switched.error, given))
  if (positionals[0] !== undefined) throw new BadOption(`There is no argument '${positionals[0]}'; see --help.`)
  const { help: isAsked, ...set } = switched.data
  return isAsked ? 'help' : ({ ...parsed.data, ...set } as ReadOptions<Values, Flags>)
}

/** Gives the options of this run; where they are bad, or help is asked for, it says so and ends the process. */
export function optionsOrExit<Options>(read: (args: string[]) => Options | 'help', help: string): Options {
  try {
    const options = read(process.argv.slice(2))
    if (options !== 'help') return options
    console.log(help)
    process.exit(0)
  } catch (error) {
    if (!(error instanceof BadOption)) throw error
    console.error(error.message)
    process.exit(2)
  }
}

function complaint({ issues: [issue] }: z.ZodError, values: Record<string, unknown>): string {
  if (issue?.code === 'unrecognized_keys') return `There is no option --${issue.keys[0]}; see --help.`
  const name = String(issue?.path[0])
  const value = values[name]
  return `--${name} ${issue?.message}, got ${typeof value === 'string' ? `'${value}'` : 'no value'}.`
}

export function wholeNumber(least: number, most: number) {
  return numberLike(/^-?\d+$/, { least, most, bound: `must be a whole number from ${least} to ${most}` })
}

export function number(least: number, most: number) {
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
