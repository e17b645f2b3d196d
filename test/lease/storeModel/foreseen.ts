import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { type Observed, tablesOf } from './observed.js'
import type { Step } from './steps.js'
import { type OperationName, predict, type Reply, type World } from './world.js'

/** The world that the model came to: after two steps at once, that of the order in which they must have been. */
export function foreseen(world: World, done: { step: Step; reply: Reply }[], after: Observed): World {
  const is = { replies: done.map(({ reply }) => reply), tables: tablesOf(after) }
  const expected = ordersOf(done.map(({ step }) => step)).map((inOrder) => {
    const next = structuredClone(world)
    const replies: Reply[] = []
    for (const { index, step, passedBy } of inOrder) replies[index] = predict(next, step, passedBy)
    const { given: _, ...tables } = next
    return { next, says: { replies, tables } }
  })
  const match = expected.find(({ says }) => isDeepStrictEqual(says, is))
  if (match !== undefined) return match.next
  const [only, other] = expected
  if (other === undefined) expect(is, 'the model says otherwise').toEqual(only?.says)
  const all = [is, ...expected.map(({ says }) => says)].map((tables) => JSON.stringify(tables))
  return expect.fail(`two at once came to what none of their orders gives:\n${all.join('\n')}\n`)
}

interface Ordered {
  /** Where its reply stands. */
  index: number
  step: Step
  passedBy?: OperationName
}

/** Every order in which steps may have taken effect. A sweep does not wait for who works on a row: it passes that by. */
function ordersOf(steps: Step[]): Ordered[][] {
  const [one, other] = steps.map((step, index): Ordered => ({ index, step }))
  if (one === undefined) return []
  if (other === undefined) return [[one]]
  const serial = [
    [one, other],
    [other, one],
  ]
  if (other.step.kind !== 'sweep' || !('operation' in one.step)) return serial
  return [...serial, [one, { ...other, passedBy: one.step.operation }]]
}
