import { heldRow } from './heldRow.js'
import type { Tables } from './tables.js'

/**
 * Ends a lease and nothing else: from now on the row is abandoned, and its on_unknown governs.
 *
 * $1 key, $2 scope, $3 fence
 */
export function abandon(tables: Tables): string {
  return `
    update ${tables.keys} as held
    set lease_expires_at = clock_timestamp()
    where ${heldRow}
    returning held.fence`
}
