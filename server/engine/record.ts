/**
 * The words of this library, one for each idea.
 *
 * - idempotency key, key: the client's name for one intent; a UUIDv7 in lower case.
 * - birth: the millisecond that a UUIDv7 carries. Keys sort by it.
 * - scope: whom a key belongs to (a user, a tenant). Uniqueness is (scope, key), never key alone.
 * - fingerprint: version byte and SHA-256 over procedure path and canonical input. Tells reuse from repeat.
 * - operation, attempt: one intent; one try at it.
 * - claim: the row that says that this attempt may run. Made by `insert ... on conflict`, never by a look-up.
 * - lease, takeover, fence: a claim that can run out; another attempt taking it; the number that makes the old holder
 *   harmless. A fence never repeats for a key.
 * - in flight, released, settled: the states of a row. Abandoned: in flight with its lease over.
 * - settle, replay: store the result once; answer from it.
 * - result: what is stored and replayed.
 * - recovery point: a named part of a leased operation whose result survives a takeover.
 * - attempt outcome: `EXECUTED`, `NOT_EXECUTED` or `UNKNOWN`, of this attempt.
 * - outcome: the same about the whole operation.
 * - watermark: how far the table has forgotten. No key born before it is ever claimed again.
 */

declare const brand: unique symbol

/** A key whose form was checked. */
export type IdempotencyKey = string & { readonly [brand]: 'key' }

/** A scope that names somebody. */
export type Scope = string & { readonly [brand]: 'scope' }

/** Raised by every takeover; every write after the claim names it. */
export type Fence = number & { readonly [brand]: 'fence' }

/** 33 bytes: one of version, 32 of SHA-256. */
export type Fingerprint = Uint8Array<ArrayBuffer> & { readonly [brand]: 'fingerprint' }

/** The serialised result; `null` stands for `undefined`, which JSON has no word for. */
export type StoredResult = string | null

/** What a row is found by. */
export interface ScopedKey {
  readonly key: IdempotencyKey
  /** Milliseconds since 1970, as the key's maker had it. */
  readonly birth: number
  readonly scope: Scope
}

/** How an operation ended, as it is stored and answered again. */
export type Outcome =
  | { readonly kind: 'value'; readonly result: StoredResult }
  /** A final error: the shape that went over the wire, as JSON. */
  | { readonly kind: 'error'; readonly shape: string }
  /** There is nothing to answer. */
  | { readonly kind: 'tombstone'; readonly reason: Tombstone }

/** Why a settled operation has no result: it was executed and its result could not be stored, or was erased since. */
export type Tombstone =
  | 'RESULT_NOT_STORABLE'
  | 'RESULT_TOO_LARGE'
  | 'RESULT_ERASED'
  /** Erased before anybody knew, or with an error for its result. */
  | 'OUTCOME_ERASED'

/** It ended, and this version does not understand how: another one wrote the row, or somebody's hand. */
export interface Unreadable {
  readonly kind: 'unreadable'
}

/** What a procedure in lease mode wants done with an operation whose holder ended without a word. */
export type OnUnknown = 'retry' | 'manual'

/** What makes an attempt the same as another: whose key it is, and for what. */
export interface Operation extends ScopedKey {
  /** Path of the procedure. */
  readonly procedure: string
  readonly fingerprint: Fingerprint
}

/** The age of a key by the database's clock, the retention and the watermark. */
export type Age = 'young' | 'too old' | 'from the future'

/** What the table knows of an operation. */
export type Lookup =
  | {
      readonly status: 'absent'
      readonly age: Age
      /** The database's clock, in milliseconds since 1970. */
      readonly nowMs: number
      /** In how many milliseconds a key from the future is old enough; negative for any other. */
      readonly youngInMs: number
    }
  | {
      readonly status: 'in flight'
      readonly fingerprint: Uint8Array
      readonly fence: Fence
      /** 0 once the lease is over. */
      readonly leaseLeftMs: number
      readonly onUnknown: OnUnknown
    }
  | {
      readonly status: 'released'
      readonly fingerprint: Uint8Array
      readonly fence: Fence
      readonly hasRecoveryPoints: boolean
    }
  | {
      readonly status: 'settled'
      readonly fingerprint: Uint8Array
      readonly fence: Fence
      readonly outcome: Outcome | Unreadable
    }
