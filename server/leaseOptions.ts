import { z } from 'zod'
import type { OnUnknown } from './engine/record.js'
import type { LeaseSettings } from './modes/leaseSettings.js'
import {
  DAY,
  errorPredicate,
  milliseconds,
  readOptions,
  SECOND,
  type TRPCErrorLike,
  type TransactionSettings,
  transactionShape,
} from './options.js'

/** How one procedure in lease mode behaves. Milliseconds and bytes are whole numbers. */
export interface LeaseOptions {
  /** How long a holder that is not heard of keeps the operation, in ms. Default 30,000. */
  leaseMs?: number
  /** Whether the lease is renewed while the handler runs. Default true. */
  renew?: boolean
  /** What a duplicate does while the lease lives: wait for its result up to `waitMs`, or be refused at once. Default `wait`. */
  onInFlight?: 'wait' | 'reject'
  /**
   * What is done with an operation whose effect cannot be known, because its holder died or its handler failed in a way
   * that proves nothing: `retry` with the same derived keys, or `manual`, until an operator says. Default `retry`.
   */
  onUnknown?: OnUnknown
  /** Whether an error proves that nothing happened which recovery points do not know of. Default: a TRPCError of 4xx. */
  isDefinite?: (error: TRPCErrorLike) => boolean
  /** Whether an error is the final answer, to be stored and given to every attempt. Default: none is. */
  storeError?: (error: TRPCErrorLike) => boolean
  /** As in transaction mode, with the defaults that `createIdempotency` was given. */
  waitMs?: number
  claimWaitMs?: number
  maxResultBytes?: number
  /** Of the transaction of a `recoveryPoint.tx`, as in transaction mode. */
  timeoutMs?: number
  maxWaitMs?: number
  maxReruns?: number
  idleWarningMs?: number
}

const { isolationLevel: _, ...waitsAndBounds } = transactionShape

const leaseSchema = z.strictObject({
  ...waitsAndBounds,
  // The time that an operation stands still after its holder died. Half a minute is longer than a garbage collection or
  // a slow partner's answer, so a living holder renews well before; and short enough for a client that retries. Below
  // half a second a renewal could not be late by one slow round trip.
  leaseMs: milliseconds(500, DAY).default(30 * SECOND),
  // A handler can take longer than its lease without losing it. Switched off, leaseMs is a deadline.
  renew: z.boolean().default(true),
  // Who sent a duplicate wants the answer, not an error.
  onInFlight: z.enum(['wait', 'reject']).default('wait'),
  // Derived keys make the repeat harmless for any outside service that honours them; without such keys, say manual.
  onUnknown: z.enum(['retry', 'manual']).default('retry'),
  isDefinite: errorPredicate.optional(),
})

/** What decides about errors, and what the mode needs. */
export interface ReadLeaseOptions {
  settings: LeaseSettings
  isDefinite: ((error: TRPCErrorLike) => boolean) | undefined
  storeError: ((error: TRPCErrorLike) => boolean) | undefined
}

/**
 * Checks what `lease` was given; waits and bounds that are left out are taken from `shared`.
 *
 * @throws TypeError that names each wrong option, its bound and its value
 */
export function readLeaseOptions(given: unknown, shared: TransactionSettings): ReadLeaseOptions {
  const { isolationLevel: _, ...defaults } = shared
  const own = Object.entries(given as object).filter(([, value]) => value !== undefined)
  const { isDefinite, storeError, ...settings } = readOptions(
    leaseSchema,
    { ...defaults, ...Object.fromEntries(own) },
    'lease',
  )
  if (settings.claimWaitMs >= settings.leaseMs) {
    throw new TypeError(
      `lease: claimWaitMs must be less than leaseMs (${settings.leaseMs}), got ${settings.claimWaitMs}`,
    )
  }
  return { settings, isDefinite, storeError }
}
