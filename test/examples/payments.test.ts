import { expect, test } from 'vitest'
import { planKills } from '../../examples/payments/kills.js'
import { readOptions } from '../../examples/payments/options.js'
import { inexactness } from '../../examples/payments/report.js'
import { BadOption } from '../../examples/support/options.js'
import { start, stillAlive } from './command.js'

const payments = (...args: string[]) => start('npm', ['run', '--silent', 'example:payments', '--', ...args])

test('with servers killed while they charge, and a provider that charges and does not answer, charges = paid = intents', async () => {
  const run = payments('--intents', '30', '--kills', '3', '--seed', '7', '--json')
  const { exitCode, stdout, stderr } = await run.ended
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  const ledger = JSON.parse(stdout) as { takeovers: number }
  expect(ledger, stderr).toEqual({ intents: 30, charges: 30, paid: 30, takeovers: expect.any(Number) })
  // This seed kills three times before the provider has answered: each of these checkouts has to be taken over.
  expect(ledger.takeovers).toBeGreaterThanOrEqual(3)
  expect(exitCode).toBe(0)
  expect(run.postgresFolders()).toEqual([])
})

test('without faults of the provider, it is the kills that are taken over, and a person reads how many there were', async () => {
  const { exitCode, stdout } = await payments('--intents', '6', '--kills', '2', '--faults', '0', '--seed', '2').ended
  expect(stdout).toContain('2 times the server that was charging was killed.')
  expect(stdout).toMatch(/\(charges\) +│ +6 ║/)
  expect(stdout).toMatch(/\(paid\) +│ +6 ║/)
  expect(stdout).toMatch(/\(takeovers\) +│ +([2-9]|\d\d) ║/)
  expect(exitCode).toBe(0)
})

test('Ctrl-C while servers are killed leaves nothing behind', async () => {
  const run = payments('--intents', '500', '--kills', '500')
  await run.says('Placing 500 checkouts')
  const family = await run.family()
  expect(family.filter(({ command }) => command.includes('shopServer')).length).toBeGreaterThan(0)
  run.pressCtrlC()
  expect(await run.ended).toMatchObject({ exitCode: 130, stdout: '' })
  expect(await stillAlive(family)).toEqual([])
  expect(run.postgresFolders()).toEqual([])
})

test('a bad option ends the example with exit code 2 and one sentence, and nothing is started', async () => {
  const { exitCode, stdout, stderr } = await payments('--faults', '0.91', '--json').ended
  expect(stderr).toBe("--faults must be a number from 0 to 0.9, got '0.91'.\n")
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})

test('more kills than intents are refused; without the option there are 6, or as many as intents', () => {
  const sentence = "--kills must be at most the number of intents (3), got '4'."
  expect(() => readOptions(['--intents', '3', '--kills', '4'])).toThrow(new BadOption(sentence))
  expect(readOptions(['--intents', '3'])).toMatchObject({ kills: 3 })
  const seed = expect.any(Number)
  expect(readOptions([])).toEqual({ intents: 60, kills: 6, faults: 0.3, concurrency: 8, seed, json: false })
})

test('a planned kill strikes once, and waits where the caller is dead already', () => {
  const killed: number[] = []
  const strike = planKills({ customers: ['one'], kills: 1, seed: 4 }, (pid) => pid !== 1 && killed.push(pid) > 0)
  const passThrough = (caller: number) => {
    strike('asked', { customer: 'one', caller })
    strike('charged', { customer: 'one', caller })
    strike('asked', { customer: 'other', caller })
  }
  for (const caller of [1, 2, 3]) passThrough(caller)
  expect(killed).toEqual([2])
})

test('a ledger that is not exact is told from one that is', () => {
  const exact = { intents: 3, charges: 3, paid: 3, takeovers: 2 }
  expect(inexactness(exact)).toBeUndefined()
  expect(inexactness({ ...exact, charges: 4 })).toMatch(/3 intents made 4 charges and 3 payments/)
  expect(inexactness({ ...exact, paid: 2 })).toMatch(/3 intents made 3 charges and 2 payments/)
})
