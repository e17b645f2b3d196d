import { AsyncLocalStorage } from 'node:async_hooks'
import type { AttemptOutcome } from '../../wire/errorData.js'

/** A transaction of ours, as whatever runs inside it sees it. */
export interface InTransaction {
  readonly procedure: string
  /** What is known of the effect of an attempt whose handler fails inside. */
  readonly attemptOutcome: AttemptOutcome
}

export interface OpenTransaction extends InTransaction {
  /** `false` once the handler has ended: what it left running is no longer inside. */
  open: boolean
}

/**
 * Here, and not in a variable of this module: a client that is guarded in one copy of this package (another bundle, a
 * module that was loaded again) is to know of the transactions of another. It is there once a client is guarded, so
 * that nobody else pays for it.
 */
const INSIDE = Symbol.for('trpc-idempotency.insideTransaction')

interface Marks {
  [INSIDE]?: AsyncLocalStorage<OpenTransaction>
}

/** From now on, transactions mark what runs inside them. */
export function startMarking(): void {
  const marks = globalThis as Marks
  marks[INSIDE] ??= new AsyncLocalStorage()
}

/** Runs `body`, and whatever it starts, as inside a transaction. */
export function runInside<T>(transaction: OpenTransaction, body: () => T): T {
  const marks = (globalThis as Marks)[INSIDE]
  return marks === undefined ? body() : marks.run(transaction, body)
}

/** The open transaction that the caller runs inside, if any. */
export function insideTransaction(): OpenTransaction | undefined {
  const transaction = (globalThis as Marks)[INSIDE]?.getStore()
  return transaction?.open ? transaction : undefined
}
