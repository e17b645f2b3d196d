import type { Operation, Outcome } from '../engine/record.js'
import { errorToStorable, toStorable } from '../engine/result.js'
import type { Serializer } from '../engine/serializer.js'
import { IdempotencyError } from '../errors.js'
import type { TransactionSettings } from '../options.js'
import { refusal, resultRefused, storeUnavailable } from '../refusals.js'
import {
  type Claim,
  type KeyStore,
  type KeyTransaction,
  NotCommitted,
  type NotSettled,
  type Opening,
  type WonClaim,
} from '../store/keyStore.js'
import { startWait } from './wait.js'

/**
 * What the handler made of it; `Failure` is whatever the caller wants back when it failed. `shape`: the error is the
 * answer, for good, and this is how it goes over the wire.
 */
export type Handled<Failure> =
  | { ok: true; data: unknown }
  | { ok: false; error: unknown; failure: Failure; shape: string | undefined }

export interface TransactionAttempt<Tx, Failure> {
  operation: Operation
  /** Which attempt of its client this is, counted from 1. */
  attempt: number
  settings: TransactionSettings
  /** Whether the handler can end with an error that is stored. */
  storesErrors: boolean
  /** Runs the handler, again where the transaction has to be run again. It must not throw. */
  handle(tx: Tx): Promise<Handled<Failure>>
}

/** The end of an attempt that ran, or was answered without running. */
export type TransactionEnd<Failure> =
  | { kind: 'answered'; outcome: Outcome }
  /** The handler failed, and everything that it did is undone. */
  | { kind: 'failed'; error: unknown; failure: Failure }

/** How one transaction ended. */
export type Ending<Failure> =
  | TransactionEnd<Failure>
  /** It did not get to run. */
  | Exclude<Claim, WonClaim>
  /** Another transaction committed the key since this one began, and the isolation level forbids to see that. */
  | { kind: 'conflict' }
  /** It ran, and Postgres undid it because of another transaction. To run it again is what Postgres asks for. */
  | { kind: 'undone'; cause: unknown }
  /** COMMIT was sent and not answered: it may have taken effect. */
  | { kind: 'commit unknown'; cause: unknown }

/** What is remembered from one transaction to the next. */
export interface Memory {
  /** Whether queries were seen to run in the transaction that was opened for them. Asked once for each client. */
  trusted: boolean
}

export interface Doubt {
  /** Whether a COMMIT of this attempt may have taken effect. Once it may, only an answer from the row says otherwise. */
  commitUnknown: boolean
}

export interface Surroundings<Tx> {
  store: KeyStore<Tx>
  serializer: Serializer
  memory: Memory
  doubt: Doubt
  /** Whether the row is there, and was released. */
  released: boolean
}

/**
 * Runs one transaction, from its claim to its COMMIT.
 *
 * @throws IdempotencyError where the attempt is refused or cannot be carried out; the database's own error where it
 *   refused the COMMIT, as it does for a deferred constraint
 */
export async function runInTransaction<Tx, Failure>(
  attempt: TransactionAttempt<Tx, Failure>,
  { store, serializer, memory, doubt, released }: Surroundings<Tx>,
): Promise<Ending<Failure>> {
  const { operation, settings } = attempt
  let handled: Handled<Failure> | undefined
  let commitSent = false
  try {
    const opening: Opening = released
      ? { kind: 'claim released', operation }
      : { kind: 'claim', operation, attempt: attempt.attempt }
    return await store.transaction({ ...settings, opening }, async (transaction) => {
      const claim = await (released
        ? transaction.claimReleased(operation)
        : transaction.claim(operation, attempt.attempt))
      if (claim.kind !== 'won') return claim
      if (!memory.trusted && !(await transaction.holds(operation, claim))) throw new Escaped()
      memory.trusted = true
      if (attempt.storesErrors) await transaction.markWork()
      handled = await handleIn(transaction, attempt)
      const outcome = outcomeOf(handled, attempt, { store, serializer })
      // A handler's failure arrives as a value. Without this line its transaction would commit.
      if (outcome === undefined) throw new Rollback()
      if (outcome.kind === 'error') await transaction.undoWork()
      await settleIn(transaction, operation, { claim, outcome })
      commitSent = true
      return { kind: 'answered', outcome }
    })
  } catch (thrown) {
    if (thrown instanceof NotCommitted) {
      if (thrown.settle !== undefined) throw notSettled(operation, thrown.settle)
      commitSent = false
    }
    const error = thrown instanceof NotCommitted ? thrown.cause : thrown
    if (error instanceof IdempotencyError) throw error
    if (error instanceof Escaped) throw await escaped(store, operation)
    // Of the handler, unless it was undone already and the rest of the transaction failed.
    const failed = handled?.ok === false && !commitSent ? handled : undefined
    const fault = error instanceof TimedOut ? 'timed out' : store.faultOf(failed?.error ?? error)
    if (fault === 'conflict') return handled === undefined ? { kind: 'conflict' } : { kind: 'undone', cause: error }
    if (failed !== undefined) return { kind: 'failed', error: failed.error, failure: failed.failure }
    if (!commitSent) throw storeUnavailable(operation, { cause: error, fault, settings })
    // An error that Postgres itself gave to the COMMIT is as sure as its success would be.
    if (fault === 'refused' || fault === 'aborted') throw error
    doubt.commitUnknown = true
    return { kind: 'commit unknown', cause: error }
  }
}

/** Makes the database undo everything; it never reaches a caller. */
class Rollback extends Error {}

/** The same for queries that are not where they should be. */
class Escaped extends Error {}

/** The same for a handler that does not end. */
class TimedOut extends Error {}

/**
 * Runs the handler, but waits no longer than its transaction lives. A handler that hangs would keep all other attempts
 * of this process waiting, long after the database has freed the key; what it still does cannot reach the transaction.
 */
async function handleIn<Tx, Failure>(
  transaction: KeyTransaction<Tx>,
  { operation, handle, settings }: TransactionAttempt<Tx, Failure>,
): Promise<Handled<Failure>> {
  const running = transaction.within(operation.procedure, () => handle(transaction.tx))
  const handled = await startWait(settings.timeoutMs).until(running)
  const closed = transaction.closeTx()
  if (!handled.inTime) throw new TimedOut()
  await closed
  return handled.value
}

/** What is to be stored; `undefined` where the handler failed in a way that is not. */
function outcomeOf<Failure>(
  handled: Handled<Failure>,
  { operation, settings: { maxResultBytes } }: TransactionAttempt<never, Failure>,
  { store, serializer }: { store: Pick<KeyStore<never>, 'faultOf'>; serializer: Serializer },
): Outcome | undefined {
  if (handled.ok) {
    const storable = toStorable(handled.data, serializer, maxResultBytes)
    if (!storable.ok) throw resultRefused(operation, storable)
    return { kind: 'value', result: storable.result }
  }
  // Postgres undid it because of another transaction: it is run again, and is no answer, whatever it looks like.
  if (handled.shape === undefined || store.faultOf(handled.error) === 'conflict') return undefined
  const storable = errorToStorable(handled.shape, maxResultBytes)
  if (!storable.ok) throw resultRefused(operation, storable)
  return storable.outcome
}

async function settleIn<Tx>(
  transaction: KeyTransaction<Tx>,
  operation: Operation,
  { claim, outcome }: { claim: WonClaim; outcome: Outcome },
): Promise<void> {
  const settled = await transaction.settleLast(operation, claim, outcome)
  switch (settled.kind) {
    case 'with COMMIT':
      return
    case 'settled': {
      const { backend, transaction: id } = claim.identity
      if (settled.identity.backend === backend && settled.identity.transaction === id) return
      throw notSettled(operation, { kind: 'lost' })
    }
    case 'too old':
    case 'lost':
      throw notSettled(operation, settled)
  }
}

function notSettled(operation: Operation, { kind }: NotSettled): IdempotencyError {
  return refusal(kind === 'too old' ? 'KEY_TOO_OLD' : 'TRANSACTION_ESCAPED', operation)
}

/** The handler never ran, so nothing happened but the claim, which may stand in the table on its own. */
async function escaped(store: KeyStore<unknown>, operation: Operation): Promise<IdempotencyError> {
  await store.removeEscaped(operation)
  return refusal('TRANSACTION_ESCAPED', operation, { attemptOutcome: 'NOT_EXECUTED' })
}
