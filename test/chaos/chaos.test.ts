import { expect, test } from 'vitest'
import { BadOption } from '../../examples/support/options.js'
import { start, stillAlive } from '../examples/command.js'
import { readOptions } from './options.js'
import { planDisasters } from './plan.js'
import { planIntent } from './plannedIntent.js'
import { complaint } from './report.js'
import { HARMLESS, requestFate } from './requestFate.js'
import { tripFate } from './tripFate.js'

const chaos = (...args: string[]) => start('npm', ['run', '--silent', 'chaos', '--', ...args])

test('in a bad network, with servers and Postgres killed, every promise holds', async () => {
  const run = chaos('--minutes', '0.15', '--seed', '3', '--json')
  const { exitCode, stdout, stderr } = await run.ended
  expect(stdout.trimEnd().split('\n'), stderr).toHaveLength(1)
  const counts = JSON.parse(stdout) as { intents: number; faults: Record<string, number> }
  expect(counts, stderr).toEqual({
    intents: expect.any(Number),
    kills: 3,
    faults: expect.objectContaining({
      'Postgres crashed': 1,
      'server killed': 3,
      'server stopped': 1,
      'network partition': 1,
      'pool starved': 1,
    }),
    unknownResolved: expect.any(Number),
    violations: 0,
  })
  expect(counts.intents).toBeGreaterThan(20)
  expect(Object.keys(counts.faults).filter((kind) => kind.startsWith('request ')).length).toBeGreaterThan(2)
  expect(exitCode).toBe(0)
  expect(run.postgresFolders()).toEqual([])
  // Nine seconds, a start and an end, on a machine that has other tests to run.
}, 120_000)

test('Ctrl-C while things go wrong leaves nothing behind', async () => {
  const run = chaos('--minutes', '10')
  await run.says('Sending intents for 10 minutes')
  const family = await run.family()
  expect(family.filter(({ command }) => command.includes('server.mjs'))).toHaveLength(3)
  run.pressCtrlC()
  expect(await run.ended).toMatchObject({ exitCode: 130, stdout: '' })
  expect(await stillAlive(family)).toEqual([])
  expect(run.postgresFolders()).toEqual([])
})

test('a bad option ends the run with exit code 2 and one sentence, and nothing is started', async () => {
  const { exitCode, stdout, stderr } = await chaos('--minutes', '0', '--json').ended
  expect(stderr).toBe("--minutes must be a number from 0.05 to 1440, got '0'.\n")
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})

test('without options a run lasts a minute; --help asks for help; an option that is not there is refused', () => {
  expect(readOptions([])).toEqual({ minutes: 1, seed: expect.any(Number), json: false })
  expect(readOptions(['--help', '--minutes', '3'])).toBe('help')
  expect(() => readOptions(['--kills', '3'])).toThrow(new BadOption('There is no option --kills; see --help.'))
})

test('a run in which a promise does not hold fails, and so does one in which nothing was acknowledged', () => {
  const counts = { acknowledged: 9, unknownResolved: 1, sentAgain: 1, forgotten: 0, left: 0 }
  const result = { counts, kills: 1, swept: 0, attempts: 10, deliveries: 9, faults: {}, violations: [] }
  const violation = { rule: 'effects', intent: 1, sentence: 'it has 2 effects', history: [] }
  expect(complaint(result)).toBeUndefined()
  expect(complaint({ ...result, violations: [violation] })).toBe('1 promises do not hold.')
  expect(complaint({ ...result, counts: { ...counts, acknowledged: 0 } })).toMatch(/^Nothing was acknowledged/)
})

test('ten minutes kill a server 250 times, and a seed plans the same again', () => {
  const plan = planDisasters({ seed: 5, minutes: 10 })
  const count = (kind: string) => plan.filter((planned) => planned.kind === kind).length
  expect(['kill', 'stop', 'partition', 'starve', 'crash'].map(count)).toEqual([250, 100, 100, 75, 30])
  expect(plan.every(({ atMs }, index) => atMs >= (plan[index - 1]?.atMs ?? 0) && atMs < 600_000)).toBe(true)
  expect(planDisasters({ seed: 5, minutes: 10 })).toEqual(plan)
  expect(planDisasters({ seed: 6, minutes: 10 })).not.toEqual(plan)
  // The shortest run, too, has one of each.
  expect(
    planDisasters({ seed: 5, minutes: 0.05 })
      .map(({ kind }) => kind)
      .sort(),
  ).toEqual(['crash', 'kill', 'partition', 'starve', 'stop'])
})

test('what happens to a request, to a round trip and to an intent depends on the seed and its name, and on nothing else', () => {
  const names = Array.from({ length: 2000 }, (_, index) => `${index}/first.1/1`)
  const fates = names.map((name) => requestFate(5, name))
  expect([...names].reverse().map((name) => requestFate(5, name))).toEqual([...fates].reverse())
  expect(names.map((name) => requestFate(6, name))).not.toEqual(fates)
  const harmed = fates.filter((fate) => JSON.stringify(fate) !== JSON.stringify(HARMLESS))
  expect(harmed.length / fates.length).toBeGreaterThan(0.15)
  expect(new Set(fates.map(({ fault }) => fault)).size).toBe(8)
  expect(new Set(fates.map(({ again }) => again))).toEqual(new Set(['no', 'at once', 'afterwards', 'late']))

  const trips = names.map((_, index) => tripFate(5, { statements: ['COMMIT'] }, () => index).kind)
  expect(new Set(trips)).toEqual(new Set(['pass', 'cut before', 'cut after', 'truncate', 'delay']))
  const intents = names.map((_, index) => planIntent(5, index))
  expect(names.map((_, index) => planIntent(5, index))).toEqual(intents)
  expect(intents.filter(({ raced }) => raced).length).toBeGreaterThan(50)
  expect(intents.filter(({ aged }) => aged).length).toBeGreaterThan(50)
})
