import { afterAll, expect, test } from 'vitest'
import { check, type Findings } from './checker.js'
import type { Configuration } from './transaction/configuration.js'
import { CONFIGURATIONS } from './transaction/configurations.js'
import { type Clause, PLANTS, type Plant } from './transaction/plants.js'
import { transactionModel } from './transactionModel.js'

const sizes: string[] = []
afterAll(() => console.log(sizes.join('\n')))

function note(name: string, { states, steps }: Findings, result: string): void {
  sizes.push(`${name}: ${states} states, ${steps} steps, ${result}`)
}

const configurations = CONFIGURATIONS.map((configuration): [string, Configuration] => [
  configuration.name,
  configuration,
])

test.each(configurations)('the protocol holds under %s', (name, configuration) => {
  const findings = check(transactionModel(configuration))
  note(name, findings, 'holds')
  expect(findings.violations).toEqual([])
})

const plants = (Object.entries(PLANTS) as [Clause, Plant][]).map(([clause, plant]): [string, Clause, Plant] => [
  plant.name,
  clause,
  plant,
])

test.each(plants)('the model finds %s, and holds without it', (name, clause, { invariant, configuration }) => {
  const planted = check(transactionModel({ name, ...configuration }, clause), { only: invariant })
  expect(planted.violations.map((violation) => violation.invariant)).toEqual([invariant])
  note(name, planted, `"${invariant}" is broken after ${planted.violations[0]?.trace.length} steps`)

  const shipped = check(transactionModel({ name, ...configuration }))
  note('without it', shipped, 'holds')
  expect(shipped.violations).toEqual([])
})
