import { leftBehindRow } from './leftBehindRow.js'
import type { Tables } from './tables.js'

/**
 * Gives an operation back to the next attempt by an operator's word. The fence rises here as well.
 *
 * $1 key, $2 scope
 */
export function releaseAbandoned(tables: Tables): string {
  return `
    update ${tables.keys} as left_behind
    set status = 'released', fence = left_behind.fence + 1, lease_expires_at = null
    where ${leftBehindRow}
    returning left_behind.fence`
}
