import { expect, test } from 'vitest'
import { readOptions } from '../../examples/shop/options.js'
import { inexactness } from '../../examples/shop/report.js'
import { BadOption } from '../../examples/support/options.js'
import { type Command, start, stillAlive } from './command.js'

const demo = (...args: string[]) => start('npm', ['start', '--silent', '--', ...args])
const demoWithoutNpm = (...args: string[]) => start('tsx', ['examples/shop/demo.ts', ...args])

test('idempotent orders are exact where a plain retry charges customers twice, and a seed repeats both', async () => {
  const run = demo('--intents', '40', '--seed', '7', '--json')
  const { exitCode, stdout } = await run.ended
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  expect(JSON.parse(stdout)).toEqual({
    plain: { intents: 40, requests: 70, orders: 70, duplicates: 19, overcharged: 59700 },
    idempotent: { intents: 40, requests: 70, orders: 40, duplicates: 0, overcharged: 0, distinctAnswers: 40 },
  })
  expect(exitCode).toBe(0)
  expect(run.postgresFolders()).toEqual([])
})

test('without --json a person reads the same in a table', async () => {
  const { exitCode, stdout } = await demo('--intents', '5', '--seed', '7').ended
  expect(stdout).toMatch(/plain retry │ idempotent/)
  expect(stdout).toMatch(/orders in the database +│ +9 │ +5 ║/)
  expect(stdout).toMatch(/money charged too much +│ +\$79\.60 │ +\$0\.00 ║/)
  expect(exitCode).toBe(0)
})

test('a bad option ends the demo with exit code 2 and one sentence, and nothing is started', async () => {
  const { exitCode, stdout, stderr } = await demo('--loss', '0.96', '--json').ended
  expect(stderr).toBe("--loss must be a number from 0 to 0.95, got '0.96'.\n")
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})

test.each([
  [['--intents', '0'], "--intents must be a whole number from 1 to 100000, got '0'."],
  [['--intents', '2.5'], "--intents must be a whole number from 1 to 100000, got '2.5'."],
  [['--intents', '1e3'], "--intents must be a whole number from 1 to 100000, got '1e3'."],
  [['--loss', '-1'], "--loss must be a number from 0 to 0.95, got '-1'."],
  [['--loss', 'NaN'], "--loss must be a number from 0 to 0.95, got 'NaN'."],
  [['--twice='], "--twice must be a number from 0 to 1, got ''."],
  [['--concurrency', '101'], "--concurrency must be a whole number from 1 to 100, got '101'."],
  [['--seed'], '--seed must be a whole number from 0 to 9007199254740991, got no value.'],
  [['--json=yes'], "--json takes no value, got 'yes'."],
  [['--orders', '5'], 'There is no option --orders; see --help.'],
  [['5'], "There is no argument '5'; see --help."],
])('%j is refused by option, bound and value', (args, sentence) => {
  expect(() => readOptions(args)).toThrow(new BadOption(sentence))
})

test('without options the demo places 200 orders, loses a third of the replies and doubles a tenth of the requests', () => {
  const seed = expect.any(Number)
  expect(readOptions([])).toEqual({ intents: 200, loss: 0.3333, twice: 0.1, concurrency: 8, seed, json: false })
})

test('--help asks for help, whatever else is given', () => {
  expect(readOptions(['--help', '--intents', '3'])).toBe('help')
})

test('Ctrl-C while Postgres is being initialised leaves nothing behind', async () => {
  const run = demo('--json')
  await run.makesPostgresFolder()
  await leavesNothingBehind(run, { stop: () => run.pressCtrlC(), exitCode: 130 })
})

test('Ctrl-C while orders are placed leaves nothing behind', async () => {
  const run = demo('--intents', '100000')
  await run.says('Placing 100000 orders with a plain retry')
  await leavesNothingBehind(run, { stop: () => run.pressCtrlC(), exitCode: 130 })
})

test('SIGTERM while idempotent orders are placed leaves nothing behind', async () => {
  const run = demoWithoutNpm('--intents', '150')
  await run.says('Placing 150 orders idempotently')
  await leavesNothingBehind(run, { stop: () => run.kill('SIGTERM'), exitCode: 143 })
})

async function leavesNothingBehind(run: Command, { stop, exitCode }: { stop(): void; exitCode: number }) {
  const family = await run.family()
  // Else there would be nothing that could be left behind.
  expect(family.some(({ command }) => command.includes('postgresKeeper'))).toBe(true)
  expect(run.postgresFolders()).toHaveLength(1)
  stop()
  const end = await run.ended
  expect(end).toMatchObject({ exitCode, stdout: '' })
  expect(await stillAlive(family)).toEqual([])
  expect(run.postgresFolders()).toEqual([])
}

test('an inexact idempotent lane is told from an exact one', () => {
  const exact = { intents: 3, requests: 5, orders: 3, duplicates: 0, overcharged: 0, distinctAnswers: 3 }
  expect(inexactness(exact)).toBeUndefined()
  expect(inexactness({ ...exact, orders: 2 })).toMatch(/3 intents made 2 orders/)
  expect(inexactness({ ...exact, duplicates: 1 })).toMatch(/charged more than once: 1/)
  expect(inexactness({ ...exact, distinctAnswers: 4 })).toMatch(/different answers: 4/)
})
