import { checkScope } from '../engine/scope.js'
import { IdempotencyError } from '../errors.js'
import type { Eraser } from '../store/keyStore.js'

/** What one erasure did. */
export interface Forgotten {
  /** Operations of which nothing but a tombstone is left. */
  erased: number
  /** Operations under a lease that lives: they were left alone. Call again once they have ended. */
  inFlight: number
}

/** Small enough to hold locks for milliseconds: somebody may be working on these very rows. */
const BATCH_SIZE = 1000

/**
 * Erases every result that is stored of a scope, those of recovery points too. Each key keeps a tombstone: sent again it
 * is refused with RESULT_ERASED, and never executed.
 *
 * @throws IdempotencyError SCOPE_MISSING; STORE_UNAVAILABLE where the database failed: call it again, it goes on
 */
export async function forgetScope(of: { scope: string }, eraser: Eraser): Promise<Forgotten> {
  const scope = checkScope(of.scope)
  if (!scope.ok) throw new IdempotencyError('SCOPE_MISSING', `forget: the scope is none: ${scope.complaint}.`)
  try {
    let erased = 0
    for (let after: string | null = ''; after !== null; ) {
      const batch = await eraser.eraseBatch(scope.scope, { after, batchSize: BATCH_SIZE })
      erased += batch.erased
      after = batch.last
    }
    return { erased, inFlight: await eraser.countLive(scope.scope) }
  } catch (cause) {
    throw new IdempotencyError('STORE_UNAVAILABLE', 'forget: the database failed (see the cause). Call it again.', {
      attemptOutcome: 'UNKNOWN',
      cause,
    })
  }
}
