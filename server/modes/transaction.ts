import { type Decision, decide } from '../engine/decide.js'
import type { Operation, StoredResult } from '../engine/record.js'
import { toStorable } from '../engine/result.js'
import type { Serializer } from '../engine/serializer.js'
import { IdempotencyError } from '../errors.js'
import type { TransactionSettings } from '../options.js'
import { inFlight, refusal, storeUnavailable } from '../refusals.js'
import type { Claim, KeyStore, KeyTransaction } from '../store/keyStore.js'
import { createSingleFlight, type Landing } from './singleFlight.js'
import { startWait, type Wait } from './wait.js'

/** What the handler made of it; `Failure` is whatever the caller wants back when it failed. */
export type Handled<Failure> = { ok: true; data: unknown } | { ok: false; failure: Failure }

export interface TransactionAttempt<Tx, Failure> {
  operation: Operation
  /** Which attempt of its client this is, counted from 1. */
  attempt: number
  settings: TransactionSettings
  /** Runs the handler. It must not throw. */
  handle(tx: Tx): Promise<Handled<Failure>>
}

export type TransactionEnd<Failure> =
  | { kind: 'answered'; result: StoredResult; replayed: boolean }
  /** The handler failed, and everything that it did is undone. */
  | { kind: 'failed'; failure: Failure }

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
  return async <Failure>(attempt: TransactionAttempt<Tx, Failure>): Promise<TransactionEnd<Failure>> => {
    const { operation } = attempt
    const wait = startWait(attempt.settings.waitMs)
    const flown = await singleFlight.run<TransactionEnd<Failure>>({ operation, wait, landingOf }, () =>
      lead(attempt, wait),
    )
    return flown.led ? flown.value : { kind: 'answered', result: flown.result, replayed: true }
  }

  /** Claims until the claim is won, lost to a result, refused, or the wait is over. */
  async function lead<Failure>(attempt: TransactionAttempt<Tx, Failure>, wait: Wait): Promise<TransactionEnd<Failure>> {
    const { operation } = attempt
    if (attempt.attempt > 1) {
      // The first attempt most likely settled: a look costs one trip, a claim that is lost costs four.
      const decision = decide(await reading(operation), operation.fingerprint)
      if (decision.action !== 'claim') return carryOut(decision, operation)
    }
    for (;;) {
      const end = await claimAndRun(attempt)
      if (end.kind === 'blocked') {
        // Waited for outside the transaction, so that the connection serves others meanwhile.
        if (wait.leftMs() === 0) throw inFlight(operation)
        await wait.pause(pauseMs(attempt.settings))
      } else if (end.kind === 'lost') {
        const decision = decide(end.found, operation.fingerprint)
        // A conflict and then no row: whoever held the key rolled back in between. Ask once more.
        if (decision.action !== 'claim') return carryOut(decision, operation)
      } else return end
    }
  }

  async function reading(operation: Operation) {
    try {
      return await store.read(operation)
    } catch (cause) {
      throw storeUnavailable(operation, 'NOT_EXECUTED', cause)
    }
  }

  /** One transaction, from its claim to its commit. */
  async function claimAndRun<Failure>(
    attempt: TransactionAttempt<Tx, Failure>,
  ): Promise<TransactionEnd<Failure> | Exclude<Claim, { kind: 'won' }>> {
    const { operation, settings } = attempt
    let handled: Handled<Failure> | undefined
    let commitSent = false
    try {
      return await store.transaction(settings, async (transaction) => {
        const claim = await transaction.claim(operation, attempt.attempt)
        if (claim.kind !== 'won') return claim
        handled = await attempt.handle(transaction.tx)
        // A handler's failure arrives as a value. Without this line its transaction would commit.
        if (!handled.ok) throw new Rollback()
        const result = await settle({ transaction, claim, operation, data: handled.data, settings })
        commitSent = true
        return { kind: 'answered', result, replayed: false }
      })
    } catch (error) {
      if (error instanceof IdempotencyError) throw error
      if (handled?.ok === false) return { kind: 'failed', failure: handled.failure }
      throw storeUnavailable(operation, commitSent ? 'UNKNOWN' : 'NOT_EXECUTED', error)
    }
  }

  interface Settling {
    transaction: KeyTransaction<Tx>
    claim: Extract<Claim, { kind: 'won' }>
    operation: Operation
    data: unknown
    settings: TransactionSettings
  }

  async function settle({ transaction, claim, operation, data, settings }: Settling): Promise<StoredResult> {
    const storable = toStorable(data, serializer, settings.maxResultBytes)
    if (!storable.ok) {
      throw new IdempotencyError(
        storable.reason,
        `${operation.procedure}: ${storable.complaint}; nothing was changed. Return plain data that can be stored and answered again.`,
        { cause: storable.cause },
      )
    }
    const settled = await transaction.settle(operation, claim.fence, storable.result)
    if (settled.kind === 'too old') throw refusal('KEY_TOO_OLD', operation)
    const { backend, transaction: id } = claim.identity
    if (settled.kind === 'lost' || settled.identity.backend !== backend || settled.identity.transaction !== id) {
      throw refusal('TRANSACTION_ESCAPED', operation)
    }
    return storable.result
  }
}

/** What the followers of an attempt may know of its end. */
function landingOf(end: TransactionEnd<unknown>): Landing {
  return end.kind === 'answered' ? { settled: true, result: end.result } : { settled: false }
}

/** Makes the database undo everything; it never reaches a caller. */
class Rollback extends Error {}

function carryOut(decision: Exclude<Decision, { action: 'claim' }>, operation: Operation): TransactionEnd<never> {
  if (decision.action === 'replay') return { kind: 'answered', result: decision.result, replayed: true }
  if (decision.reason === 'IN_FLIGHT') throw inFlight(operation, decision.retryAfterMs)
  throw refusal(decision.reason, operation)
}

/** As long again as a duplicate held a connection, give or take half, so that duplicates do not march in step. */
function pauseMs({ claimWaitMs }: TransactionSettings): number {
  return claimWaitMs * (0.5 + Math.random())
}
