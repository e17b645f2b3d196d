import { heldRow } from './heldRow.js'
import type { Tables } from './tables.js'

/**
 * Locks the row of an operation against a takeover until the transaction ends, if this fence still holds it. A plain
 * look would let a takeover come between it and the commit: two holders would then do, and record, the same point.
 *
 * $1 key, $2 scope, $3 fence
 */
export function lockHeld(tables: Tables): string {
  return `
    select held.fence, pg_backend_pid() as backend, pg_current_xact_id()::text as transaction
    from ${tables.keys} as held
    where ${heldRow}
    for share`
}
