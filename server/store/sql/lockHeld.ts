import { bounds, restoredLockTimeout } from './bounds.js'
import { heldRow } from './heldRow.js'
import type { Tables } from './tables.js'

/**
 * Locks the row of an operation against a takeover until the transaction ends, if this fence still holds it. A plain
 * look would let a takeover come between it and the commit: two holders would then do, and record, the same point. The
 * transaction is bounded like a claim's, so that a holder that goes silent inside it does not keep the row.
 *
 * $1 key, $2 scope, $3 fence, $4 lock timeout (milliseconds), $5 statement timeout, $6 idle timeout (with units)
 */
export function lockHeld(tables: Tables): string {
  return `
    with ${bounds({ lock: '$4', statement: '$5', idle: '$6' })},
    locked as materialized (
      select held.fence, pg_backend_pid() as backend, pg_current_xact_id()::text as transaction
      from ${tables.keys} as held, bounds
      where ${heldRow}
      for share of held
    )
    select locked.fence, locked.backend, locked.transaction, ${restoredLockTimeout}
    from locked`
}
