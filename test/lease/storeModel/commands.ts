import fc from 'fast-check'
import type { TestDatabase } from '../../support/database/testDatabase.js'
import {
  ASKING,
  anyDraft,
  type Draft,
  FORGETTING,
  lateTakeover,
  meetingDrafts,
  operationName,
  takeovers,
  whileOpenDrafts,
} from './drafts.js'
import { foreseen } from './foreseen.js'
import type { Transition } from './invariants.js'
import { type Observed, observe } from './observed.js'
import type { Keys, Perform } from './perform.js'
import type { Step } from './steps.js'
import { NAMES, type OperationName, type Reply, type World } from './world.js'

/** The model of a run, what the tables held after the last step, and what was done so far. */
export interface Known {
  world: World
  before: Observed
  story: string[]
}

export interface Real {
  db: TestDatabase
  keys: Keys
  perform: Perform
  checkInvariants(transition: Transition): void
  count(said: string): void
}

/** How steps are taken: both at the same time, or one while the other is held open. */
type Way = (steps: readonly Step[], real: Real) => Promise<Reply[]>

/** Walks of so many commands at the most, of one step or of two that meet. */
export function commandsOf(maxCommands: number) {
  const alone = fc.tuple(operationName, anyDraft).map(([operation, draft]) => command([draft], { operation }))
  const meeting = (drafts: fc.Arbitrary<[Draft, Draft]>, meet: Omit<Meeting, 'operation'>) =>
    fc.tuple(operationName, drafts).map(([operation, both]) => command(both, { operation, ...meet }))
  return fc.commands(
    [
      ...[alone, alone, alone, alone, alone],
      meeting(meetingDrafts, { way: atOnce }),
      meeting(whileOpenDrafts, { way: whileOpen }),
      meeting(takeovers, { way: atOnce, leaseIsOver: true }),
      meeting(lateTakeover, { way: whileOpen, leaseIsOver: true }),
    ],
    { maxCommands, size: 'max' },
  )
}

/** How every run ends. */
export const ending: readonly fc.AsyncCommand<Known, Real>[] = [
  ...FORGETTING.map((draft) => command([draft], { operation: 'old' })),
  ...NAMES.flatMap((operation) => ASKING.map((draft) => command([draft], { operation }))),
]

interface Meeting {
  operation: OperationName
  way?: Way
  /** The lease ends before, if it lives. */
  leaseIsOver?: boolean
}

function command(
  drafts: readonly Draft[],
  { operation, way = atOnce, leaseIsOver = false }: Meeting,
): fc.AsyncCommand<Known, Real> {
  const stepsIn = (world: World) => drafts.map((draft) => draft(world, operation)).filter((step) => step !== undefined)
  return {
    check: ({ world }) => stepsIn(world).length === drafts.length,
    async run(known, real) {
      if (leaseIsOver && known.world.rows[operation]?.lease === 'lives') {
        await take([{ kind: 'leaseEnds', operation }], { known, real, way: atOnce })
      }
      await take(stepsIn(known.world), { known, real, way })
    },
    // What it did is told by the story: the picks of a draft mean something only in the world that it met.
    toString: () => `${drafts.length === 1 ? 'alone' : way.name}(${operation})`,
  }
}

async function take(steps: Step[], { known, real, way }: { known: Known; real: Real; way: Way }): Promise<void> {
  const at = known.story.push(steps.map(toText).join(' at once with '))
  try {
    const replies = await way(steps, real)
    known.story[at - 1] += ` -> ${replies.map(toText).join(', ')}`
    await conclude(known, real, { steps, replies })
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    throw new Error([said, ...known.story].join('\n'), { cause: error })
  }
}

function atOnce(steps: readonly Step[], { perform, keys }: Real): Promise<Reply[]> {
  return Promise.all(steps.map((step) => perform(step, keys)))
}

/** Holds the transaction of a recovery point open until the other step has ended, or waits for it. */
async function whileOpen([point, other]: readonly Step[], { db, perform, keys }: Real): Promise<Reply[]> {
  if (point === undefined || other === undefined) throw new Error('a meeting needs two')
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  let arrive: () => void = () => undefined
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const recording = perform(point, keys, () => {
    arrive()
    return opened
  })
  try {
    // It does not get inside where its lease is lost.
    await Promise.race([arrived, recording])
    const meeting = perform(other, keys)
    await Promise.race([meeting, somebodyWaits(db, meeting)])
    open()
    return await Promise.all([recording, meeting])
  } finally {
    // An error must not leave the transaction open: the next run would wait for it.
    open()
  }
}

/** Resolves when a session of this database waits for a lock, or when nobody can any more. */
async function somebodyWaits(db: TestDatabase, meeting: Promise<Reply>): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  meeting.then(end, end)
  while (!ended) {
    const waiting = await db.query(
      `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    )
    if (waiting.length > 0) return
  }
}

/** Looks at the tables, checks what is promised, and then that the model foresaw it. */
async function conclude(
  known: Known,
  real: Real,
  { steps, replies }: { steps: Step[]; replies: Reply[] },
): Promise<void> {
  const after = await observe(real.db, real.keys)
  const done = steps.map((step, index) => ({ step, reply: replies[index] ?? false }))
  real.checkInvariants({ before: known.before, after, done })
  known.world = foreseen(known.world, done, after)
  known.before = after
  const said = done.map(({ step, reply }) => `${step.kind}: ${typeof reply === 'object' ? reply.kind : reply}`)
  for (const one of said) real.count(one)
  if (said.length > 1) real.count(said.join(' & '))
}

function toText(told: Step | Reply): string {
  return JSON.stringify(told)
}
