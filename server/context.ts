import { derivedKey } from './engine/derivedKey.js'
import type { Operation } from './engine/record.js'
import type { RecoveryPoint } from './modes/recoveryPoints.js'
import { refusal } from './refusals.js'

/** What an idempotent handler finds in `ctx.idempotency`. */
export interface IdempotencyContext {
  readonly key: string
  readonly scope: string
  /** Which attempt of its client this is, counted from 1. */
  readonly attempt: number
  /** A key for a further call that belongs to this operation: the same in every attempt at it. A UUIDv7. */
  derivedKey(name: string): string
}

/** The same in lease mode. */
export interface LeaseContext<Tx> extends IdempotencyContext {
  /** Aborts, with LEASE_LOST as its reason, once another attempt has taken over or has to be feared to have. */
  readonly signal: AbortSignal
  /** Named parts whose results survive a takeover. */
  readonly recoveryPoint: RecoveryPoint<Tx>
}

/** Marks what we put into ctx. A registered symbol, so that two copies of this package know each other's. */
const OURS = Symbol.for('trpc-idempotency.context')

export function idempotencyContext({ key, scope }: Operation, attempt: number): IdempotencyContext {
  return marked({ key, scope, attempt, derivedKey: (name: string) => derivedKey(key, scope, name) })
}

export function leaseContext<Tx>(
  operation: Operation,
  attempt: number,
  { signal, recoveryPoint }: { signal: AbortSignal; recoveryPoint: RecoveryPoint<Tx> },
): LeaseContext<Tx> {
  return marked({ ...idempotencyContext(operation, attempt), signal, recoveryPoint })
}

/**
 * A ctx that we made belongs to a handler that is running: what is called with it would run beside its transaction, or
 * under a lease of its own.
 *
 * @throws IdempotencyError NESTED
 */
export function refuseNested({ ctx, path }: { ctx: unknown; path: string }): void {
  // A server without createContext has no ctx at all.
  const context = (ctx as { idempotency?: unknown } | null | undefined)?.idempotency
  if (typeof context === 'object' && context !== null && OURS in context) {
    throw refusal('NESTED', { procedure: path })
  }
}

function marked<Context extends object>(context: Context): Context {
  return Object.defineProperty(context, OURS, { value: true })
}
