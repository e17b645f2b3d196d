import { at } from './at.js'
import type { Model, Step } from './checker.js'
import { claimSteps } from './transaction/claimSteps.js'
import { clientSteps } from './transaction/clientSteps.js'
import { type Configuration, settingsOf } from './transaction/configuration.js'
import { INVARIANTS, PROGRESS } from './transaction/invariants.js'
import { keyOf } from './transaction/keyOf.js'
import type { Clause } from './transaction/plants.js'
import { runSteps } from './transaction/runSteps.js'
import { sceneOf } from './transaction/scene.js'
import { FRESH, NONE, type State } from './transaction/state.js'
import { surroundingSteps } from './transaction/surroundingSteps.js'

/**
 * Transaction mode as a graph of states: one key, several deliveries, Postgres at read committed. A step of the model is
 * the smallest thing that others can come between. Each stands for code, and whoever changes one changes both together:
 *
 * - `claimSteps`, until a delivery runs: to follow another one of its process is server/modes/singleFlight.ts; what it
 *   does next is server/modes/transaction.ts and server/engine/decide.ts; to read is server/store/sql/read.ts. The
 *   claim, server/store/sql/claim.ts, is one statement and two steps: its snapshot, and with it what it knows of the
 *   watermark, is older than its insert, which may have waited for others.
 * - `runSteps`, from the handler to the answer: server/modes/runInTransaction.ts. The settle is
 *   server/store/sql/settle.ts, and what is done about a careless handler server/store/guard.ts.
 * - `surroundingSteps`: what Postgres does by itself, killed processes, the clock, and the sweep,
 *   server/store/sql/sweep.ts and raiseWatermark.ts: two statements. The margin that the code keeps between them is left
 *   out, for nothing depends on it.
 * - `clientSteps`, what the link concludes: client/attempts.ts and client/judge.ts. A handler's error counts as final
 *   there. A client that learns from server/ops/status.ts that a row is absent concludes nothing.
 *
 * It rests on this of Postgres: `insert ... on conflict do nothing` waits for a transaction that holds the key, one at a
 * time, and each wait is bounded; when it ends, what counts is what is committed then, while the statement's snapshot
 * stays as old as its beginning; a later statement sees more; COMMIT of a transaction in which a statement failed rolls
 * back and reports no error; a COMMIT whose connection is lost may still take effect, at any time.
 *
 * Left out, because other tests show it or nothing depends on it here: fingerprints, scopes and keys from the future;
 * two keys, so that a deadlock is just a conflict; other isolation levels; results that cannot be stored; queries that
 * escape their transaction (late use of a closed `ctx.tx` is refused, and no step); rows of lease mode; connection
 * pools; how long anything takes, but for the margin; a failover that loses what was committed.
 *
 * @param brokenClause a clause of the protocol that does not hold, to see that this would be found
 */
export function transactionModel(configuration: Configuration, brokenClause?: Clause): Model<State> {
  const settings = settingsOf(configuration)
  const prober = settings.senders.indexOf('prober')
  const invariants = Object.entries(INVARIANTS)
  return {
    start: {
      tick: 0,
      row: NONE,
      rowSince: NONE,
      watermark: 'below',
      swept: false,
      effects: [],
      transactions: [],
      deliveries: settings.senders.map((sender) => ({
        ...FRESH,
        place: sender === 'attempt 2' && settings.clients ? 'not sent' : 'on its way',
      })),
      clients: settings.sendersOfClients.map(() => ({ attempts: 1, unknown: false, told: false, outcome: 'none' })),
      crashes: 0,
      losses: 0,
      conflicts: 0,
    },
    steps(state) {
      const steps: Step<State>[] = []
      const scene = sceneOf({ settings, brokenClause }, state, steps)
      for (const delivery of state.deliveries.keys()) {
        claimSteps(scene, delivery)
        runSteps(scene, delivery)
      }
      surroundingSteps(scene)
      clientSteps(scene)
      return steps
    },
    keyOf,
    broken: (state) => invariants.filter(([, holds]) => !holds(state, settings)).map(([name]) => name),
    ...(prober !== NONE && {
      progress: { name: PROGRESS, reached: ({ deliveries }: State) => at(deliveries, prober).place === 'ended' },
    }),
  }
}
