import { decideLease, type LeaseDecision } from '../engine/decide.js'
import type { Lookup, OnUnknown, Operation, Outcome } from '../engine/record.js'
import { errorToStorable, toStorable } from '../engine/result.js'
import type { Serializer } from '../engine/serializer.js'
import { isIdempotencyError } from '../errors.js'
import { abandoned, inFlight, leaseLost, refusal, storeUnavailable } from '../refusals.js'
import type { Held, LeaseClaim, LeaseStore } from '../store/leaseStore.js'
import { holdLease, type LeaseHolder } from './leaseHolder.js'
import type { LeaseSettings } from './leaseSettings.js'
import { claimPauseMs, pauseBeforeRerun } from './pauses.js'
import { type RecoveryPoint, recoveryPoints } from './recoveryPoints.js'
import { createSingleFlight, type Landing } from './singleFlight.js'
import { startWait, type Wait } from './wait.js'

/** What a failed handler leaves behind. */
export type LeaseFailure<Failure> =
  /** It proves that nothing happened that recovery points do not know of. */
  | { kind: 'definite'; failure: Failure }
  /** It proves nothing. */
  | { kind: 'indefinite'; error: unknown; failure: Failure }
  /** It is the answer, for good: the shape that goes over the wire. */
  | { kind: 'final'; shape: string }

export type LeaseHandled<Failure> = { ok: true; data: unknown } | ({ ok: false } & LeaseFailure<Failure>)

export interface LeaseAttempt<Tx, Failure> {
  operation: Operation
  attempt: number
  settings: LeaseSettings
  /** Runs the handler, once. It must not throw. */
  handle(lease: {
    signal: AbortSignal
    recoveryPoint: RecoveryPoint<Tx>
    /** Whether a part of the operation is recorded as done: then no error of the handler means that nothing was. */
    isRecorded(): boolean
  }): Promise<LeaseHandled<Failure>>
}

type Won = Extract<LeaseClaim, { kind: 'won' }>

export type LeaseEnd<Failure> = { kind: 'answered'; outcome: Outcome } | { kind: 'failed'; failure: Failure }

/**
 * Lease mode, for effects outside the database: the claim commits first, the handler runs with no transaction open, the
 * outcome is stored after. One holder at a time, by the database's clock; a holder that dies is taken over once its
 * lease is over; one that lost its lease can store nothing.
 *
 * @returns a function that carries out one attempt; it throws IdempotencyError where the attempt is refused or fails
 */
export function leaseMode<Tx>(
  store: LeaseStore<Tx>,
  serializer: Serializer,
): <Failure>(attempt: LeaseAttempt<Tx, Failure>) => Promise<LeaseEnd<Failure>> {
  const singleFlight = createSingleFlight()
  return async <Failure>(attempt: LeaseAttempt<Tx, Failure>): Promise<LeaseEnd<Failure>> => {
    const { operation, settings } = attempt
    // Who does not wait has nothing to follow: the row tells for how long the lease lives.
    if (settings.onInFlight === 'reject') return claimAndRun(attempt, startWait(0))
    const wait = startWait(settings.waitMs)
    const flown = await singleFlight.run<LeaseEnd<Failure>>({ operation, wait, landingOf }, () =>
      claimAndRun(attempt, wait),
    )
    return flown.led ? flown.value : { kind: 'answered', outcome: flown.outcome }
  }

  /** Reads and claims until the claim is won, answered, refused, or the wait is over. */
  async function claimAndRun<Failure>(attempt: LeaseAttempt<Tx, Failure>, wait: Wait): Promise<LeaseEnd<Failure>> {
    const { operation, settings } = attempt
    for (let times = 0; ; times += 1) {
      const decision = decideLease(await reading(operation), operation.fingerprint)
      if (decision.action === 'replay') return { kind: 'answered', outcome: decision.outcome }
      if (decision.action === 'refuse') {
        const { action: _, reason, ...details } = decision
        throw refusal(reason, operation, details)
      }
      if (decision.action !== 'wait') {
        const claim = await claiming(attempt, decision)
        if (claim.kind === 'won') return run(attempt, claim)
        // Lost: somebody was faster; the next look tells what came of it.
        if (claim.kind === 'lost' && (times < LOOKS_AFTER_LOSS || wait.leftMs() > 0)) continue
      }
      const leaseLeftMs = decision.action === 'wait' ? decision.leaseLeftMs : settings.leaseMs
      if (wait.leftMs() === 0) throw inFlight(operation, retryAfterMs(settings, leaseLeftMs))
      // Looked at again, and not claimed: a claim that loses would lock the row. Not later than the lease can end.
      await wait.pause(Math.min(claimPauseMs(times, settings.claimWaitMs), leaseLeftMs))
    }
  }

  async function claiming(
    { operation, attempt, settings }: LeaseAttempt<Tx, unknown>,
    { action }: Extract<LeaseDecision, { action: 'claim' | 'take over' }>,
  ): Promise<LeaseClaim> {
    try {
      return await (action === 'claim'
        ? store.claim(operation, attempt, settings)
        : store.takeOver(operation, settings))
    } catch (cause) {
      // The claim may stand; but nothing has run under it, and nothing will: its lease ends by itself.
      throw storeUnavailable(operation, { cause })
    }
  }

  async function reading(operation: Operation, attemptOutcome?: 'UNKNOWN'): Promise<Lookup> {
    try {
      return await store.read(operation)
    } catch (cause) {
      throw storeUnavailable(operation, { cause, ...(attemptOutcome !== undefined && { attemptOutcome }) })
    }
  }

  async function run<Failure>(
    attempt: LeaseAttempt<Tx, Failure>,
    { fence, onUnknown }: Won,
  ): Promise<LeaseEnd<Failure>> {
    const { operation, settings } = attempt
    const held: Held = { operation, fence }
    const holder = holdLease(store, held, settings)
    try {
      const recorded = fence === 1 ? [] : await store.points(operation)
      const { recoveryPoint, isRecorded } = recoveryPoints({ store, serializer, settings, held, holder, recorded })
      const handled = await Promise.race([
        attempt.handle({ signal: holder.signal, recoveryPoint, isRecorded }),
        leaseIsLost(holder),
      ])
      // Not when its handler ends: that can be never, and whoever follows in this process must not wait for it.
      return handled === 'lease lost' ? await winners(held) : await conclude({ held, settings, onUnknown }, handled)
    } catch (cause) {
      if (isIdempotencyError(cause)) throw cause
      throw storeUnavailable(operation, { cause, attemptOutcome: 'UNKNOWN' })
    } finally {
      holder.end()
    }
  }

  interface Holding {
    held: Held
    settings: LeaseSettings
    /** Of the row, not of this deploy. */
    onUnknown: OnUnknown
  }

  /** Stores what came of the handler, if the lease is still held. */
  async function conclude<Failure>(holding: Holding, handled: LeaseHandled<Failure>): Promise<LeaseEnd<Failure>> {
    const { held, settings, onUnknown } = holding
    if (handled.ok) return settle(holding, outcomeOf(handled.data, settings.maxResultBytes))
    switch (handled.kind) {
      case 'final':
        return settle(holding, errorOutcomeOf(handled.shape, settings.maxResultBytes))
      case 'definite':
        return (await writing(() => store.release(held))) ? { kind: 'failed', failure: handled.failure } : winners(held)
      case 'indefinite': {
        const retries = onUnknown === 'retry'
        const landed = await writing(() => (retries ? store.release(held) : store.abandon(held)))
        if (!landed) return winners(held)
        if (!retries) throw abandoned(held.operation, handled.error)
        return { kind: 'failed', failure: handled.failure }
      }
    }
  }

  function outcomeOf(data: unknown, maxBytes: number): Outcome {
    const storable = toStorable(data, serializer, maxBytes)
    // The effect has happened. What cannot be stored must not be run again for that.
    return storable.ok ? { kind: 'value', result: storable.result } : { kind: 'tombstone', reason: storable.reason }
  }

  function errorOutcomeOf(shape: string, maxBytes: number): Outcome {
    const storable = errorToStorable(shape, maxBytes)
    return storable.ok ? storable.outcome : { kind: 'tombstone', reason: storable.reason }
  }

  async function settle({ held }: Holding, outcome: Outcome): Promise<{ kind: 'answered'; outcome: Outcome }> {
    return (await writing(() => store.settle(held, outcome))) ? { kind: 'answered', outcome } : winners(held)
  }

  /** Writes once more where no answer came: each of these writes is the same the second time, and proves the fence. */
  async function writing(write: () => Promise<boolean>): Promise<boolean> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await write()
      } catch (error) {
        if (tries >= 3) throw error
        await pauseBeforeRerun(tries + 2)
      }
    }
  }

  /**
   * What the caller of an attempt is told whose last write did not land: the stored outcome, where there is one. It may
   * be its own, if the answer to an earlier write was lost.
   */
  async function winners(held: Held): Promise<{ kind: 'answered'; outcome: Outcome }> {
    const found = await reading(held.operation, 'UNKNOWN')
    if (found.status !== 'settled') throw leaseLost(held.operation)
    if (found.outcome.kind === 'unreadable') throw refusal('RESULT_NOT_READABLE', held.operation)
    return { kind: 'answered', outcome: found.outcome }
  }
}

/** A claim that was lost is looked after, however little patience there is: the row knows more than IN_FLIGHT. */
const LOOKS_AFTER_LOSS = 3
/** Longer than this nobody should be told to stay away: the holder may settle long before its lease is over. */
const LONGEST_RETRY_AFTER_MS = 60_000
/** Who has waited already comes back soon, and waits again. */
const RETRY_AFTER_WAIT_MS = 1000

function retryAfterMs({ onInFlight }: LeaseSettings, leaseLeftMs: number): number {
  return Math.min(leaseLeftMs, onInFlight === 'reject' ? LONGEST_RETRY_AFTER_MS : RETRY_AFTER_WAIT_MS)
}

function leaseIsLost({ signal }: LeaseHolder): Promise<'lease lost'> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve('lease lost'), { once: true }))
}

function landingOf(end: LeaseEnd<unknown>): Landing {
  return end.kind === 'answered' ? { settled: true, outcome: end.outcome } : { settled: false }
}
