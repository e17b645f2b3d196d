import type { Tables } from './tables.js'

export interface LiveRow {
  live: number
}

/**
 * Counts a scope's operations under a lease that lives.
 *
 * $1 scope
 */
export function countLive(tables: Tables): string {
  return `
    select count(*)::int as live
    from ${tables.keys} as held
    where held.scope = $1::text and held.status = 'in_flight' and held.lease_expires_at > clock_timestamp()`
}
