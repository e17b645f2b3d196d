import { expect } from 'vitest'
import type { Observed } from './observed.js'
import type { Step } from './steps.js'
import { type Holder, NAMES, OPERATIONS, type OperationName, type Reply } from './world.js'

/** One step, or two that met, and the tables before and after. */
export interface Transition {
  before: Observed
  after: Observed
  done: { step: Step; reply: Reply }[]
}

/** What the invariants remember of a run: nothing of it comes from the model. */
interface History {
  /** Who was given which fence. */
  owners: Record<OperationName, Map<number, Holder>>
  /** The highest fence that the row ever had. */
  highest: Record<OperationName, number>
  swept: Set<OperationName>
}

/** Checks every transition of one run against what is promised. The rule that is broken opens the message. */
export function watchInvariants(): (transition: Transition) => void {
  const history: History = {
    owners: { old: new Map(), 'old elsewhere': new Map(), older: new Map() },
    highest: { old: 0, 'old elsewhere': 0, older: 0 },
    swept: new Set(),
  }
  return (transition) => {
    fencesAreGivenOnce(transition, history)
    settledResultsStay(transition)
    recoveryPointsStay(transition)
    lostFencesChangeNothing(transition)
    takeoversHaveGrounds(transition)
    sweepsSpareWhatIsHeld(transition)
    sweptKeysStayGone(transition, history)
    dataCommitsWithItsPoint(transition)
    remember(transition, history)
  }
}

function fencesAreGivenOnce({ after, done }: Transition, { owners, highest }: History): void {
  for (const { step, reply } of done) {
    if (!(step.kind === 'claim' || step.kind === 'takeOver') || !isWon(reply)) continue
    const { operation, holder } = step
    expect(owners[operation].get(reply.fence), 'never two owners of one fence').toBeUndefined()
    expect(reply.fence, 'a fence never repeats for a key').toBeGreaterThan(highest[operation])
    owners[operation].set(reply.fence, holder)
  }
  for (const name of NAMES) {
    const fence = after.rows[name]?.row.fence
    if (fence !== undefined) expect(fence, 'the fence of a row never falls').toBeGreaterThanOrEqual(highest[name])
  }
}

function settledResultsStay({ before, after }: Transition): void {
  for (const name of NAMES) {
    const [was, is] = [before.rows[name], after.rows[name]]
    if (was?.row.status !== 'settled' || is === null) continue
    expect(is, 'a settled result is never overwritten').toEqual(was)
  }
}

function recoveryPointsStay({ before, after, done }: Transition): void {
  for (const name of NAMES) {
    const [was, is] = [before.rows[name], after.rows[name]]
    if (is !== null)
      expect(is.points, 'a recovery point is never changed').toEqual(expect.arrayContaining(was?.points ?? []))
  }
  const recorded = done.flatMap(({ step, reply }) => {
    if (!(step.kind === 'record' || step.kind === 'recordWith')) return []
    return reply === true || reply === 'recorded' ? [step] : []
  })
  for (const { operation, name } of recorded) {
    const known = before.rows[operation]?.points.filter((point) => point.name === name)
    expect(known, 'a recovery point is never recorded twice').toEqual([])
  }
  expect(
    new Set(recorded.map(({ operation, name }) => `${operation}: ${name}`)).size,
    'one of two records a point',
  ).toBe(recorded.length)
}

/** Of two that meet, one may change the row; that the other did not is the model's to say. */
function lostFencesChangeNothing({ before, after, done }: Transition): void {
  for (const { step, reply } of done) {
    if (!('fence' in step) || before.rows[step.operation]?.row.fence === step.fence) continue
    expect([false, 'lost'], 'a holder whose fence is not the row’s is told so').toContain(reply)
    if (done.length === 1) expect(after, 'a holder whose fence is not the row’s changes nothing').toEqual(before)
  }
}

function takeoversHaveGrounds({ before, done }: Transition): void {
  const [only, other] = done
  if (other !== undefined || only?.step.kind !== 'takeOver' || !isWon(only.reply)) return
  const row = before.rows[only.step.operation]?.row
  const isOver = row?.status === 'in_flight' && row.lease === 'over' && row.on_unknown === 'retry'
  expect(
    row?.status === 'released' || isOver,
    'a takeover needs a release, or a lease that is over to be retried',
  ).toBe(true)
  expect(row?.fingerprint, 'a takeover needs the same fingerprint').toBe(`\\x${`0${only.step.payload}`.repeat(33)}`)
}

function sweepsSpareWhatIsHeld({ before, after, done }: Transition): void {
  for (const name of NAMES) {
    const [was, is] = [before.rows[name], after.rows[name]]
    if (was === null || is !== null) continue
    expect(
      done.map(({ step }) => step.kind),
      'nothing but a sweep deletes',
    ).toContain('sweep')
    const { hours, marginPassed } = before.watermark ?? { hours: Infinity, marginPassed: false }
    expect(marginPassed && OPERATIONS[name].ageHours > hours, 'only a key below a watermark of some age is swept').toBe(
      true,
    )
    if (done.length > 1) continue
    const { status, lease, on_unknown } = was.row
    expect(status === 'in_flight' && lease === 'lives', 'a live lease is never swept').toBe(false)
    expect(status === 'in_flight' && on_unknown === 'manual', 'an abandoned manual row is never swept').toBe(false)
  }
}

function sweptKeysStayGone({ after }: Transition, { swept }: History): void {
  for (const name of swept) expect(after.rows[name], 'a swept key is never claimed again').toBeNull()
}

function dataCommitsWithItsPoint({ before, after, done }: Transition): void {
  const written = done.flatMap(({ step, reply }) =>
    step.kind === 'recordWith' && reply === 'recorded' ? [step.label] : [],
  )
  expect(after.orders, 'data commits if and only if its point is recorded').toEqual(
    [...before.orders, ...written].sort(),
  )
}

function remember({ before, after }: Transition, { highest, swept }: History): void {
  for (const name of NAMES) {
    highest[name] = Math.max(highest[name], after.rows[name]?.row.fence ?? 0)
    if (before.rows[name] !== null && after.rows[name] === null) swept.add(name)
  }
}

function isWon(reply: Reply): reply is Extract<Reply, { kind: 'won' }> {
  return typeof reply === 'object' && reply.kind === 'won'
}
