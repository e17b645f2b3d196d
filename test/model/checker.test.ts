import { expect, test } from 'vitest'
import { check, type Model, type Step } from './checker.js'

/** A lock and two who want it. */
interface Door {
  inside: number
  waiting: number
  gone: number
}

interface Rules {
  /** The most that the door lets in. */
  room: number
  /** Whether somebody who is inside can leave. */
  exit: boolean
}

function door({ room, exit }: Rules): Model<Door> {
  return {
    start: { inside: 0, waiting: 2, gone: 0 },
    steps({ inside, waiting, gone }) {
      const steps: Step<Door>[] = []
      if (waiting > 0 && inside < room) {
        steps.push({ label: 'enters', next: { inside: inside + 1, waiting: waiting - 1, gone } })
      }
      if (inside > 0 && exit) steps.push({ label: 'leaves', next: { inside: inside - 1, waiting, gone: gone + 1 } })
      if (waiting > 0) steps.push({ label: 'waits', next: { inside, waiting, gone } })
      return steps
    },
    keyOf: ({ inside, waiting, gone }) => `${inside}/${waiting}/${gone}`,
    broken: ({ inside }) => (inside > 1 ? ['one inside', 'nobody is crowded'] : []),
    progress: { name: 'everybody leaves', reached: ({ gone }) => gone === 2 },
  }
}

test('a model that is right holds, and all its states were visited', () => {
  expect(check(door({ room: 1, exit: true }))).toEqual({ states: 5, steps: 7, violations: [] })
})

test('a broken invariant is found with the shortest way to it', () => {
  expect(check(door({ room: 2, exit: true })).violations).toEqual([
    { invariant: 'one inside', trace: ['enters', 'enters'] },
    { invariant: 'nobody is crowded', trace: ['enters', 'enters'] },
  ])
})

test('a dead end is found with the shortest way to it', () => {
  expect(check(door({ room: 1, exit: false })).violations).toEqual([{ invariant: 'everybody leaves', trace: [] }])
  const trapdoor: Model<Door> = {
    ...door({ room: 1, exit: true }),
    steps: (state) => [
      ...door({ room: 1, exit: true }).steps(state),
      ...(state.gone === 1 ? [{ label: 'falls', next: { inside: -1, waiting: 0, gone: 1 } }] : []),
    ],
  }
  expect(check(trapdoor).violations).toEqual([{ invariant: 'everybody leaves', trace: ['enters', 'leaves', 'falls'] }])
})

test('a circle without a way out is a dead end, although something can always happen', () => {
  const circle: Model<number> = {
    start: 0,
    steps: (at) =>
      (at === 0 ? [1, 3] : at === 1 ? [2] : at === 2 ? [1] : []).map((next) => ({ label: `${next}`, next })),
    keyOf: String,
    broken: () => [],
    progress: { name: 'gets to 3', reached: (at) => at === 3 },
  }
  expect(check(circle).violations).toEqual([{ invariant: 'gets to 3', trace: ['1'] }])
})

test('a state that is excused need not lead to the goal', () => {
  const progress = { name: 'everybody leaves', reached: () => false, excused: ({ inside }: Door) => inside === 1 }
  expect(check({ ...door({ room: 1, exit: false }), progress }).violations).toEqual([])
})

test('a state that breaks an invariant is not said to be a dead end as well', () => {
  const violations = check({
    ...door({ room: 2, exit: false }),
    broken: ({ inside }) => (inside === 1 ? ['empty'] : []),
  })
  expect(violations.violations).toEqual([{ invariant: 'empty', trace: ['enters'] }])
})

test('a search for one violation looks past those of other invariants', () => {
  const crowded: Model<Door> = {
    ...door({ room: 2, exit: true }),
    broken: ({ inside, gone }) => [...(inside > 1 ? ['one inside'] : []), ...(gone === 2 ? ['somebody stays'] : [])],
  }
  const trace = ['enters', 'enters', 'leaves', 'leaves']
  expect(check(crowded, { only: 'somebody stays' }).violations[0]?.trace).toHaveLength(trace.length)
  expect(check(crowded, { only: 'everybody leaves' }).violations).toEqual([])
})

test('a model without an end is an error', () => {
  const endless: Model<number> = {
    start: 0,
    steps: (at) => [{ label: 'on', next: at + 1 }],
    keyOf: String,
    broken: () => [],
  }
  expect(() => check(endless, { maxStates: 1000 })).toThrow('more than 1000 states')
})
