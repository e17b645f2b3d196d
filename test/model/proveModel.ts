import { afterAll, expect, test } from 'vitest'
import { check, type Findings, type Model } from './checker.js'

export interface Proof<State, Configuration extends { name: string }, Clause extends string> {
  model(configuration: Configuration, brokenClause?: Clause): Model<State>
  /** In each of these the protocol has to hold. */
  configurations: readonly Configuration[]
  /** For each clause the invariant that is violated without it, and where. */
  plants: Record<Clause, { name: string; invariant: string; configuration: Omit<Configuration, 'name'> }>
}

/** Tests that a protocol holds, and that the model would find each of the faults that are planted in it. */
export function proveModel<State, Configuration extends { name: string }, Clause extends string>({
  model,
  configurations,
  plants,
}: Proof<State, Configuration, Clause>): void {
  const sizes: string[] = []
  afterAll(() => console.log(sizes.join('\n')))

  const note = (name: string, { states, steps }: Findings, result: string): void => {
    sizes.push(`${name}: ${states} states, ${steps} steps, ${result}`)
  }

  test.each(configurations.map((configuration): [string, Configuration] => [configuration.name, configuration]))(
    'the protocol holds under %s',
    (name, configuration) => {
      const findings = check(model(configuration))
      note(name, findings, 'holds')
      expect(findings.violations).toEqual([])
    },
  )

  const clauses = Object.keys(plants) as Clause[]
  test.each(clauses.map((clause): [string, Clause] => [plants[clause].name, clause]))(
    'the model finds %s, and holds without it',
    (name, clause) => {
      const { invariant, configuration } = plants[clause]
      const named = { name, ...configuration } as Configuration
      const planted = check(model(named, clause), { only: invariant })
      expect(planted.violations.map((violation) => violation.invariant)).toEqual([invariant])
      note(name, planted, `"${invariant}" is broken after ${planted.violations[0]?.trace.length} steps`)

      const shipped = check(model(named))
      note('without it', shipped, 'holds')
      expect(shipped.violations).toEqual([])
    },
  )
}
