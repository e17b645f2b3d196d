import type { Tables } from './tables.js'

/**
 * Removes a claim of transaction mode that was committed by itself, before its handler ran. Only there: a row without a
 * lease that others can see is such a claim, and its holder is the one that removes it.
 *
 * $1 key, $2 scope, $3 fence
 */
export function removeEscaped(tables: Tables): string {
  return `
    delete from ${tables.keys} as escaped
    where escaped.key = $1::text
      and escaped.scope = $2::text
      and escaped.fence = $3::int
      and escaped.status = 'in_flight'
      and escaped.lease_expires_at is null
    returning escaped.fence`
}
