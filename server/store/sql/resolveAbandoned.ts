import { leftBehindRow } from './leftBehindRow.js'
import type { Tables } from './tables.js'

/**
 * Settles an operation by an operator's word. The fence rises, so that its holder, should it still be there, can change
 * nothing any more.
 *
 * $1 key, $2 scope, $3 result
 */
export function resolveAbandoned(tables: Tables): string {
  return `
    update ${tables.keys} as left_behind
    set status = 'settled', fence = left_behind.fence + 1, result = $3::text, result_kind = 'value',
      settled_at = clock_timestamp(), lease_expires_at = null
    where ${leftBehindRow}
    returning left_behind.fence`
}
