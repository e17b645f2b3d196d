import type {
  Fence,
  Lookup,
  OnUnknown,
  Operation,
  Outcome,
  ScopedKey,
  StoredResult,
  Unreadable,
} from '../engine/record.js'
import type { Fault } from './sqlDatabase.js'

/** An operation and the right to it. */
export interface Held {
  readonly operation: Operation
  readonly fence: Fence
}

export interface LeaseTerms {
  readonly leaseMs: number
  readonly claimWaitMs: number
  /** What is done with the row once its lease is over without a word of its holder. Stays with the row. */
  readonly onUnknown: OnUnknown
}

/** How a claim or a takeover ended. */
export type LeaseClaim =
  | {
      readonly kind: 'won'
      readonly fence: Fence
      /** The policy of the row: that of its first claim. */
      readonly onUnknown: OnUnknown
    }
  /** It was not granted; look what is there. */
  | { readonly kind: 'lost' }
  /** Another transaction holds the key and did not end in time. */
  | { readonly kind: 'blocked' }

export interface RecordedPoint {
  readonly name: string
  readonly result: StoredResult | Unreadable
  readonly fence: Fence
}

/** Bounds of the transaction in which a recovery point is recorded with its data. */
export interface PointBounds {
  claimWaitMs: number
  timeoutMs: number
  maxWaitMs: number
  idleWarningMs: number
}

/** How a recovery point in a transaction ended. */
export type PointEnd =
  | { readonly kind: 'recorded' }
  /** The fence does not hold any more. Everything is undone. */
  | { readonly kind: 'lost' }
  /** The point is there already: an earlier try of this one took effect. Everything of this try is undone. */
  | { readonly kind: 'known' }
  /** The queries of `body` did not run in the transaction that was opened for them. */
  | { readonly kind: 'escaped' }

/** What lease mode needs of a database. Every write proves the fence; `false` means that the lease was lost. */
export interface LeaseStore<Tx> {
  read(name: ScopedKey): Promise<Lookup>
  claim(operation: Operation, attempt: number, terms: LeaseTerms): Promise<LeaseClaim>
  takeOver(operation: Operation, terms: LeaseTerms): Promise<LeaseClaim>
  renew(held: Held, terms: LeaseTerms): Promise<boolean>
  settle(held: Held, outcome: Outcome): Promise<boolean>
  /** Gives the operation back for the next attempt; recovery points and fence stay. */
  release(held: Held): Promise<boolean>
  /** Ends the lease: what is then done with the operation is the policy of its row. */
  abandon(held: Held): Promise<boolean>
  /** In the order in which they were recorded. */
  points(name: ScopedKey): Promise<RecordedPoint[]>
  record(held: Held, name: string, result: StoredResult): Promise<boolean>
  /** Runs `body` in a transaction, and commits what it wrote together with the record of what it returned. */
  recordWith(
    held: Held,
    point: { name: string; bounds: PointBounds },
    body: (tx: Tx) => Promise<StoredResult>,
  ): Promise<PointEnd>
  /** An operator's word on what is abandoned or released; `false` where it is neither. */
  resolveAbandoned(name: ScopedKey, result: StoredResult): Promise<boolean>
  releaseAbandoned(name: ScopedKey): Promise<boolean>
  faultOf(error: unknown): Fault
}
