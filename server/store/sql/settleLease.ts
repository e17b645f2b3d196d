import { heldRow } from './heldRow.js'
import type { Tables } from './tables.js'

/**
 * Stores the outcome of a leased operation. No look at the watermark, as in transaction mode: the effect has happened, and
 * a row whose lease lives is not swept.
 *
 * $1 key, $2 scope, $3 fence, $4 result, $5 result_kind
 */
export function settleLease(tables: Tables): string {
  return `
    update ${tables.keys} as held
    set status = 'settled', result = $4::text, result_kind = $5::text, settled_at = clock_timestamp(),
      lease_expires_at = null
    where ${heldRow}
    returning held.fence`
}
