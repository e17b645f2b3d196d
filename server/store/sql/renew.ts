import { lockBound } from './bounds.js'
import { heldRow } from './heldRow.js'
import type { Tables } from './tables.js'

/**
 * Renews a lease, by the database's clock. A recovery point that commits with its data locks the row meanwhile, against
 * its own holder too: so the wait is bounded, and the holder tries again.
 *
 * $1 key, $2 scope, $3 fence, $4 lock timeout, $5 lease (milliseconds)
 */
export function renew(tables: Tables): string {
  return `
    with ${lockBound('$4')}
    update ${tables.keys} as held
    set lease_expires_at = clock_timestamp() + make_interval(secs => $5::float8 / 1000)
    from bounds
    where ${heldRow}
    returning held.fence`
}
