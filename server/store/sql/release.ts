import { heldRow } from './heldRow.js'
import type { Tables } from './tables.js'

/**
 * Gives an operation back for the next attempt. It never deletes: recovery points stay, and so does the fence, for a
 * holder that comes late must not find a new row with its old number.
 *
 * $1 key, $2 scope, $3 fence
 */
export function release(tables: Tables): string {
  return `
    update ${tables.keys} as held
    set status = 'released', lease_expires_at = null
    where ${heldRow}
    returning held.fence`
}
