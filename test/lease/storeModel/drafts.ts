import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { OnUnknown, Outcome, StoredResult } from '../../../server/engine/record.js'
import type { Holding, Payload, Step } from './steps.js'
import { type Holder, isLeftBehind, NAMES, type OperationName, type World } from './world.js'

/** A step that does not know yet what the world will be like; `undefined` where it cannot be taken. */
export type Draft = (world: World, operation: OperationName) => Step | undefined

export const operationName = fc.constantFrom(...NAMES)

const holder = fc.constantFrom<Holder>('first', 'second', 'third')
/** Mostly the same, so that a takeover is a repeat more often than a reuse. */
const payload = fc.constantFrom<Payload>(1, 1, 1, 2)
const onUnknown = fc.constantFrom<OnUnknown>('retry', 'retry', 'manual')
const result = fc.constantFrom<StoredResult>('"tea"', '"milk"', null)
const name = fc.constantFrom('charge', 'mail')
const pick = fc.nat()
/** Whether to leave out what comes to nothing: now and then it has to be tried. */
const mostly = fc.constantFrom(true, true, true, true, false)
const outcome = fc.oneof(
  result.map((stored): Outcome => ({ kind: 'value', result: stored })),
  fc.constantFrom<Outcome>(
    { kind: 'error', shape: '{"code":-32600}' },
    { kind: 'tombstone', reason: 'RESULT_TOO_LARGE' },
    { kind: 'tombstone', reason: 'RESULT_NOT_STORABLE' },
  ),
)

const claiming = {
  ...{ holder, payload, onUnknown },
  attempt: fc.integer({ min: 1, max: 3 }),
  retentionHours: fc.constantFrom(30, 30, 30, 30, 20, 10),
}
/** What an attempt does after its look: a claim where there is no row, a takeover of what is left behind. */
const attempt = fc.record({ ...claiming, mostly }).map(
  ({ attempt, retentionHours, mostly, ...asked }): Draft =>
    (world, operation) => {
      const [claim, takeOver] = [
        { kind: 'claim', operation, attempt, retentionHours, ...asked } as const,
        { kind: 'takeOver', operation, ...asked } as const,
      ]
      if (world.rows[operation] === null) return mostly ? claim : takeOver
      if (hasLeftBehind(world, operation)) return takeOver
      return mostly ? undefined : [claim, takeOver][attempt % 2]
    },
)
/** A takeover of what was there, with the payload that most claims have. */
const takeOver = fc.record({ holder, onUnknown }).map(
  (asked): Draft =>
    ({ rows }, operation) =>
      (rows[operation]?.status ?? 'settled') === 'settled'
        ? undefined
        : { kind: 'takeOver', operation, payload: 1, ...asked },
)
const recordWith = fc
  .record({ pick, name, result, fails: fc.constantFrom(false, false, false, true) })
  .map(({ pick, ...point }) =>
    held(pick, (holding) => ({ kind: 'recordWith', label: randomUUID(), ...point, ...holding })),
  )

const leaseEnds = fc.constant<Draft>(({ rows }, operation) =>
  rows[operation]?.lease === 'lives' ? { kind: 'leaseEnds', operation } : undefined,
)

const operatorResolves = fc.record({ result, mostly }).map(
  ({ result, mostly }): Draft =>
    (world, operation) =>
      mostly && !hasLeftBehind(world, operation) ? undefined : { kind: 'operatorResolves', operation, result },
)
const operatorReleases = mostly.map(
  (mostly): Draft =>
    (world, operation) =>
      mostly && !hasLeftBehind(world, operation) ? undefined : { kind: 'operatorReleases', operation },
)

/** What touches one operation. */
export const operationDraft: fc.Arbitrary<Draft> = fc.oneof(
  { weight: 8, arbitrary: attempt },
  { weight: 2, arbitrary: pick.map((by) => held(by, (holding) => ({ kind: 'renew', ...holding }))) },
  { weight: 2, arbitrary: pick.map((by) => held(by, (holding) => ({ kind: 'release', ...holding }))) },
  { weight: 1, arbitrary: pick.map((by) => held(by, (holding) => ({ kind: 'abandon', ...holding }))) },
  {
    weight: 1,
    arbitrary: fc
      .record({ pick, outcome })
      .map(({ pick, ...rest }) => held(pick, (holding) => ({ kind: 'settle', ...rest, ...holding }))),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ pick, name, result })
      .map(({ pick, ...point }) => held(pick, (holding) => ({ kind: 'record', ...point, ...holding }))),
  },
  { weight: 3, arbitrary: recordWith },
  { weight: 2, arbitrary: operatorResolves },
  { weight: 2, arbitrary: operatorReleases },
  { weight: 3, arbitrary: leaseEnds },
)

const raise = fc.constantFrom(10, 10, 20, 20, 20, 30).map(
  (retentionHours): Draft =>
    () => ({ kind: 'raise', retentionHours }),
)
const marginPasses = fc.constant<Draft>(({ watermark }) =>
  watermark?.marginPassed === false ? { kind: 'marginPasses' } : undefined,
)
const sweep = mostly.map(
  (mostly): Draft =>
    ({ watermark }) =>
      mostly && watermark?.marginPassed !== true ? undefined : { kind: 'sweep' },
)

/** Anything that can happen alone. */
export const anyDraft = fc.oneof(
  { weight: 22, arbitrary: operationDraft },
  { weight: 1, arbitrary: raise },
  { weight: 2, arbitrary: marginPasses },
  { weight: 2, arbitrary: sweep },
)

/** Two that meet. One sweep at the most: two share what there is to delete in any way they like. */
export const meetingDrafts = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(operationDraft, operationDraft) },
  { weight: 3, arbitrary: fc.tuple(attempt, attempt) },
  { weight: 2, arbitrary: fc.tuple(operationDraft, sweep) },
  { weight: 1, arbitrary: fc.tuple(operationDraft, raise) },
)

/** What meets a recovery point whose transaction is open. */
export const whileOpenDrafts = fc.tuple(
  recordWith,
  fc.oneof({ weight: 6, arbitrary: operationDraft }, { weight: 1, arbitrary: sweep }),
)

/** What meets when the lease has just ended: two who take over, or one and a holder that is still at work. */
export const takeovers = fc.tuple(takeOver, takeOver)
export const lateTakeover = fc.tuple(recordWith, takeOver)

function hasLeftBehind({ rows }: World, operation: OperationName): boolean {
  const row = rows[operation]
  return row !== null && isLeftBehind(row)
}

/** A write of one of those who were ever given a fence for the operation: in half of the cases of the last of them. */
function held(by: number, step: (holding: Holding) => Step): Draft {
  return (world, operation) => {
    const given = (Object.entries(world.given[operation]) as [Holder, number][]).sort(([, a], [, b]) => b - a)
    const [chosen] = given.slice(by % 2 === 0 ? 0 : by % Math.max(1, given.length))
    return chosen === undefined ? undefined : step({ operation, holder: chosen[0], fence: chosen[1] })
  }
}

/** How every run ends: what may be forgotten is forgotten, but not before the margin has passed, */
export const FORGETTING: readonly Draft[] = [
  () => ({ kind: 'marginPasses' }),
  () => ({ kind: 'raise', retentionHours: 10 }),
  () => ({ kind: 'sweep' }),
  () => ({ kind: 'marginPasses' }),
  () => ({ kind: 'sweep' }),
]

/** and asked for again. */
export const ASKING: readonly Draft[] = [
  (_, operation) => ({ kind: 'takeOver', operation, ...LATE }),
  (_, operation) => ({ kind: 'claim', operation, attempt: 2, retentionHours: 30, ...LATE }),
]

const LATE = { holder: 'first', payload: 1, onUnknown: 'retry' } as const
