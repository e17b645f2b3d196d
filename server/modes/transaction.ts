import { type Decision, decide } from '../engine/decide.js'
import type { Lookup, Operation } from '../engine/record.js'
import type { Serializer } from '../engine/serializer.js'
import { IdempotencyError } from '../errors.js'
import { inFlight, outcomeUnknown, refusal, storeUnavailable } from '../refusals.js'
import type { KeyStore } from '../store/keyStore.js'
import { claimPauseMs, pauseBeforeRerun, repeatWaitMs } from './pauses.js'
import {
  type Doubt,
  type Memory,
  runInTransaction,
  type TransactionAttempt,
  type TransactionEnd,
} from './runInTransaction.js'
import { createSingleFlight, type Landing } from './singleFlight.js'
import { startWait, type Wait } from './wait.js'

/**
 * Transaction mode: the claim, everything that the handler writes through `tx`, and the stored result commit together
 * or not at all. Of any number of attempts at once one runs; the others are answered with its result.
 *
 * @returns a function that carries out one attempt; it throws IdempotencyError where the attempt is refused or fails
 */
export function transactionMode<Tx>(
  store: KeyStore<Tx>,
  serializer: Serializer,
): <Failure>(attempt: TransactionAttempt<Tx, Failure>) => Promise<TransactionEnd<Failure>> {
  const singleFlight = createSingleFlight()
  const memory: Memory = { trusted: false }
  return async <Failure>(attempt: TransactionAttempt<Tx, Failure>): Promise<TransactionEnd<Failure>> => {
    const { operation } = attempt
    const wait = startWait(attempt.settings.waitMs)
    const flown = await singleFlight.run<TransactionEnd<Failure>>({ operation, wait, landingOf }, () =>
      lead(attempt, wait),
    )
    return flown.led ? flown.value : { kind: 'answered', outcome: flown.outcome }
  }

  async function lead<Failure>(attempt: TransactionAttempt<Tx, Failure>, wait: Wait): Promise<TransactionEnd<Failure>> {
    const doubt: Doubt = { commitUnknown: false }
    try {
      return await claimUntilDecided(attempt, wait, doubt)
    } catch (error) {
      // Nothing but the row can say that a COMMIT without an answer did not take effect.
      throw doubt.commitUnknown && error instanceof IdempotencyError ? outcomeUnknown(error, attempt.operation) : error
    }
  }

  /** Claims until the claim is won, lost to a result, refused, or the wait is over. */
  async function claimUntilDecided<Failure>(
    attempt: TransactionAttempt<Tx, Failure>,
    wait: Wait,
    doubt: Doubt,
  ): Promise<TransactionEnd<Failure>> {
    const { operation, settings } = attempt
    // The first attempt most likely settled: a look costs one trip, a claim that is lost costs four.
    let lookFirst = attempt.attempt > 1
    let released = false
    let reruns = 0
    let blocked = 0
    for (;;) {
      if (lookFirst) {
        const found = await reading(operation, doubt.commitUnknown && reruns < settings.maxReruns)
        if (found === 'failed') {
          await pauseBeforeRerun(reruns)
          reruns += 1
          continue
        }
        // Whatever else the row is, a claim finds out.
        const decision = found && decide(found, operation.fingerprint)
        if (decision?.action === 'replay' || decision?.action === 'refuse') return carryOut(decision, operation)
      }
      // Who was blocked, or has been sent before, may meet one that takes long: a connection is not for waiting that out.
      const isRepeat = blocked > 0 || attempt.attempt > 1
      const claiming = isRepeat
        ? { ...attempt, settings: { ...settings, claimWaitMs: repeatWaitMs(settings.claimWaitMs) } }
        : attempt
      const end = await runInTransaction(claiming, { store, serializer, memory, doubt, released })
      switch (end.kind) {
        case 'answered':
          return end
        case 'failed':
          if (doubt.commitUnknown) throw storeUnavailable(operation, { cause: end.error })
          return end
        case 'lost': {
          const decision = decide(end.found, operation.fingerprint)
          if (decision.action === 'replay' || decision.action === 'refuse') return carryOut(decision, operation)
          // A conflict and then no row: the sweep, or who removes an escaped claim, took it in between. A new
          // transaction sees that. (Of two claims the second waits for the first: it is not lost to a rollback.)
          lookFirst = false
          released = decision.action === 'claim released'
          if (wait.leftMs() === 0) throw inFlight(operation)
          break
        }
        case 'blocked':
        case 'conflict':
          // Waited for outside the transaction, so that the connection serves others meanwhile.
          if (wait.leftMs() === 0) throw inFlight(operation)
          if (end.kind === 'blocked') await wait.pause(claimPauseMs(blocked, settings.claimWaitMs))
          blocked += 1
          lookFirst = true
          break
        case 'undone':
        case 'commit unknown':
          if (reruns >= settings.maxReruns) throw storeUnavailable(operation, { cause: end.cause, settings })
          await pauseBeforeRerun(reruns)
          reruns += 1
          lookFirst = end.kind === 'commit unknown'
          break
      }
    }
  }

  /**
   * @param again whether a read that fails is worth another one. After a COMMIT that went unanswered it is: a pool can
   *   hand out once more the very connection that was lost
   */
  async function reading(operation: Operation, again: boolean): Promise<Lookup | undefined | 'failed'> {
    try {
      return await store.readSettled(operation)
    } catch (cause) {
      if (again) return 'failed'
      throw storeUnavailable(operation, { cause })
    }
  }
}

/** What the followers of an attempt may know of its end. */
function landingOf(end: TransactionEnd<unknown>): Landing {
  return end.kind === 'answered' ? { settled: true, outcome: end.outcome } : { settled: false }
}

function carryOut(
  decision: Extract<Decision, { action: 'replay' | 'refuse' }>,
  operation: Operation,
): TransactionEnd<never> {
  if (decision.action === 'replay') return { kind: 'answered', outcome: decision.outcome }
  if (decision.reason === 'IN_FLIGHT') throw inFlight(operation, decision.retryAfterMs)
  const { action: _, reason, ...details } = decision
  throw refusal(reason, operation, details)
}
