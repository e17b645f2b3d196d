import { at } from './at.js'
import type { Model, Step } from './checker.js'
import { claimSteps } from './lease/claimSteps.js'
import { clientSteps } from './lease/clientSteps.js'
import { type Configuration, settingsOf } from './lease/configuration.js'
import { endSteps } from './lease/endSteps.js'
import { holderSteps } from './lease/holderSteps.js'
import { INVARIANTS, isLeftToOperator, PROGRESS } from './lease/invariants.js'
import { keyOf } from './lease/keyOf.js'
import type { Clause } from './lease/plants.js'
import { pointSteps } from './lease/pointSteps.js'
import { sceneOf } from './lease/scene.js'
import { FRESH, NONE, type State } from './lease/state.js'
import { surroundingSteps } from './lease/surroundingSteps.js'
import { transactionModeSteps } from './lease/transactionModeSteps.js'

/**
 * Lease mode as a graph of states: one key, several attempts, each in a process of its own, and a handler with two
 * recovery points: a charge at a provider, and a business row in `recoveryPoint.tx`. Each part stands for code, and
 * whoever changes one changes both together:
 *
 * - `claimSteps`, until an attempt runs: server/modes/lease.ts and decideLease in server/engine/decide.ts; to read is
 *   server/store/sql/read.ts, the claim claimLease.ts and the takeover takeOver.ts.
 * - `holderSteps`, `pointSteps` and `endSteps`, from the handler to the answer: server/modes/recoveryPoints.ts,
 *   leaseHolder.ts and lease.ts. The statements are those of server/store/sqlLeaseStore.ts.
 * - `statements`: when each of them gives a row, and what it waits for.
 * - `surroundingSteps`: the ends of leases, killed processes, what Postgres does by itself, the sweep,
 *   server/store/sql/sweep.ts, and the operator, server/ops/operator.ts.
 * - `transactionModeSteps`: another deploy, as far as it meets rows of lease mode. The rest of it is transactionModel.ts.
 * - `clientSteps`, what the link concludes: client/attempts.ts and client/judge.ts.
 *
 * A holder that stalls is one for which nothing happens for a while: it knows nothing of its lease, and when it goes on
 * it does whatever it was about to do. A statement or a call whose answer is lost takes effect at any time, or never.
 *
 * It rests on this of Postgres: a statement on its own takes effect at once, on the newest committed row, whose `where`
 * it checks again after a wait; `for share` makes updates of the row wait until its transaction ends, and no other `for
 * share`; a recovery point is recorded once, because its name is part of a primary key, and not without the row of its
 * key; `for share` of the watermark keeps a raise away until the claim is committed. And on this of the provider: it
 * executes once for each derived key, and answers a derived key as it did before, a refusal too.
 *
 * Left out, because other tests show it or nothing depends on it here: fingerprints, scopes and keys from the future;
 * followers within one process; `status()`; a watermark that was never raised, whose first raise has no row to lock and
 * rests on the margin; a COMMIT without an answer in transaction mode; how long anything takes.
 *
 * @param brokenClause a clause of the protocol that does not hold, to see that this would be found
 */
export function leaseModel(configuration: Configuration, brokenClause?: Clause): Model<State> {
  const settings = settingsOf(configuration)
  const prober = settings.senders.indexOf('prober')
  const invariants = Object.entries(INVARIANTS)
  return {
    start: {
      row: undefined,
      watermark: 'below',
      swept: false,
      charges: [],
      refused: false,
      business: [],
      transactions: [],
      afloat: [],
      grants: 0,
      highestFence: 0,
      misdeeds: [],
      attempts: settings.senders.map((sender) => ({
        ...FRESH,
        place: sender === 'attempt 2' && settings.clients ? 'not sent' : 'reads',
      })),
      clients: settings.sendersOfClients.map(() => ({ attempts: 1, unknown: false, told: false, outcome: 'none' })),
      crashes: 0,
      losses: 0,
      failures: 0,
      operations: 0,
    },
    steps(state) {
      const steps: Step<State>[] = []
      const scene = sceneOf({ settings, brokenClause }, state, steps)
      for (const attempt of state.attempts.keys()) {
        claimSteps(scene, attempt)
        holderSteps(scene, attempt)
        pointSteps(scene, attempt)
        endSteps(scene, attempt)
        transactionModeSteps(scene, attempt)
      }
      surroundingSteps(scene)
      clientSteps(scene)
      return steps
    },
    keyOf,
    broken: (state) => invariants.filter(([, holds]) => !holds(state, settings)).map(([name]) => name),
    ...(prober !== NONE && {
      progress: {
        name: PROGRESS,
        reached: ({ attempts }: State) => at(attempts, prober).place === 'ended',
        excused: (state: State) => isLeftToOperator(state, settings),
      },
    }),
  }
}
