import type { Fence, Lookup, Operation, StoredResult } from '../engine/record.js'

/** What a transaction can prove about itself: the connection and the transaction that a statement really ran in. */
export interface Identity {
  readonly backend: number
  readonly transaction: string
}

/** How a claim ended. */
export type Claim =
  | { readonly kind: 'won'; readonly fence: Fence; readonly identity: Identity }
  /** Somebody else's row is there, or the key is not of an age to be claimed. */
  | { readonly kind: 'lost'; readonly found: Lookup }
  /** Another transaction holds the key and did not end in time. This one is spent: end it. */
  | { readonly kind: 'blocked' }

/** How a settle ended. */
export type Settle =
  | { readonly kind: 'settled'; readonly identity: Identity }
  /** The watermark passed the key while the handler ran: committing would bring a forgotten key back. */
  | { readonly kind: 'too old' }
  /** The claim is not there to be settled. */
  | { readonly kind: 'lost' }

/** One transaction of the application's database. */
export interface KeyTransaction<Tx> {
  /** What the handler works with. */
  readonly tx: Tx
  /** Tries to claim an operation. The only thing that grants the right to run. */
  claim(operation: Operation, attempt: number): Promise<Claim>
  /** Stores the result under the fence of the claim. */
  settle(operation: Operation, fence: Fence, result: StoredResult): Promise<Settle>
}

export interface TransactionBounds {
  claimWaitMs: number
  timeoutMs: number
  maxWaitMs: number
}

/** The contract between the modes, which decide when, and a database, which knows how. */
export interface KeyStore<Tx> {
  /** What the table knows of an operation. It never grants anything: only a claim does. */
  read(operation: Operation): Promise<Lookup>
  /** Commits when `body` returns, rolls back when it throws, and then throws what it threw. */
  transaction<T>(bounds: TransactionBounds, body: (transaction: KeyTransaction<Tx>) => Promise<T>): Promise<T>
}
