import type { Fence, Lookup, Operation, Outcome, Scope, ScopedKey } from '../engine/record.js'
import type { Fault, SqlTransactionOptions } from './sqlDatabase.js'

/** What a transaction can prove about itself: the connection and the transaction that a statement really ran in. */
export interface Identity {
  readonly backend: number
  readonly transaction: string
}

/** A claim that was won: this transaction may run, and these two prove later that it is still the one. */
export interface WonClaim {
  readonly kind: 'won'
  readonly fence: Fence
  readonly identity: Identity
}

/** How a claim ended. */
export type Claim =
  | WonClaim
  /** Somebody else's row is there, or the key is not of an age to be claimed. */
  | { readonly kind: 'lost'; readonly found: Lookup }
  /** Another transaction holds the key and did not end in time. This one is spent: end it. */
  | { readonly kind: 'blocked' }

/** The claim that a transaction begins with. Where the connection can do that, it is sent together with BEGIN. */
export type Opening =
  | { readonly kind: 'claim'; readonly operation: Operation; readonly attempt: number }
  | { readonly kind: 'claim released'; readonly operation: Operation }

/** How a settle ended. */
export type Settle = { readonly kind: 'settled'; readonly identity: Identity } | NotSettled

/** Why nothing was settled. */
export type NotSettled =
  /** The watermark passed the key while the handler ran: committing would bring a forgotten key back. */
  | { readonly kind: 'too old' }
  /** The claim is not there to be settled. */
  | { readonly kind: 'lost' }

/** One transaction of the application's database. */
export interface KeyTransaction<Tx> {
  /** What the handler works with. */
  readonly tx: Tx
  /** Runs the handler, inside for all that watch or guard it, until `closeTx`. */
  within<T>(procedure: string, handler: () => Promise<T>): Promise<T>
  /** Closes `tx` at once to whoever still holds it, and waits for what it runs. */
  closeTx(): Promise<void>
  /** Tries to claim an operation. The only thing that grants the right to run. */
  claim(operation: Operation, attempt: number): Promise<Claim>
  /** The same for a row that is there, and that lease mode released: if it has no recovery points. */
  claimReleased(operation: Operation): Promise<Claim>
  /** Whether statements run in the transaction of the claim, the handler's too. */
  holds(operation: Operation, claim: WonClaim): Promise<boolean>
  /** Marks the place to which `undoWork` goes back. */
  markWork(): Promise<void>
  /** Undoes everything since `markWork`, and not the claim, which was before it. */
  undoWork(): Promise<void>
  /** Stores the outcome under the fence of the claim. */
  settle(operation: Operation, fence: Fence, outcome: Outcome): Promise<Settle>
  /**
   * The same as the last thing that the transaction does. Where the connection can do that, it is sent together with
   * COMMIT, in the claim's own transaction, and `transaction` throws NotCommitted where it did not take effect.
   */
  settleLast(
    operation: Operation,
    claim: WonClaim,
    outcome: Outcome,
  ): Promise<Settle | { readonly kind: 'with COMMIT' }>
}

export interface TransactionBounds extends SqlTransactionOptions {
  claimWaitMs: number
  idleWarningMs: number
  /** Left out: it begins with something else. */
  opening?: Opening
}

/** A settle that was sent together with COMMIT did not take effect, and so there was no COMMIT. */
export class NotCommitted extends Error {
  override readonly name = 'NotCommitted'
  /** What the settle came to; `undefined` where it failed, and then the cause is the database's error. */
  readonly settle: NotSettled | undefined

  constructor(settle: NotSettled | undefined, cause: unknown) {
    super('the settle that was sent together with COMMIT did not take effect', { cause })
    this.settle = settle
  }
}

/** The contract between the modes, which decide when, and a database, which knows how. */
export interface KeyStore<Tx> {
  /** What the table knows of an operation. It never grants anything: only a claim does. */
  read(name: ScopedKey): Promise<Lookup>
  /** The same where it is settled, and `undefined` where it is not: that is cheaper to ask. */
  readSettled(name: ScopedKey): Promise<Lookup | undefined>
  /**
   * Commits when `body` returns, rolls back when it throws, and then throws what it threw.
   *
   * @throws NotCommitted where a settle that was sent together with COMMIT did not take effect: everything is undone
   */
  transaction<T>(bounds: TransactionBounds, body: (transaction: KeyTransaction<Tx>) => Promise<T>): Promise<T>
  /** Removes a claim that stands in the table although its transaction was rolled back. */
  removeEscaped(operation: Operation): Promise<void>
  faultOf(error: unknown): Fault
}

/** What an erasure does to the table, one statement at a time. */
export interface Eraser {
  /**
   * Erases what is stored of at most `batchSize` operations of a scope, in the order of their keys, and leaves
   * tombstones. Never of one whose lease lives.
   *
   * @param after where to go on: the last key of the batch before
   * @returns `last` of the batch; `null` where there was none left
   */
  eraseBatch(
    scope: Scope,
    batch: { after: string; batchSize: number },
  ): Promise<{ erased: number; last: string | null }>
  /** How many operations of a scope are under a lease that lives. */
  countLive(scope: Scope): Promise<number>
}

/** What a sweep does to the table, one statement at a time. */
export interface Sweeper {
  /** Deletes at most `batchSize` forgotten rows; gives their number. */
  deleteBatch(batchSize: number): Promise<number>
  /** Raises the watermark where it is time to; gives whether it was. */
  raiseWatermark(): Promise<boolean>
}
