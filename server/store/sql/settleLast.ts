import { settle } from './settle.js'
import type { Tables } from './tables.js'

/**
 * The same as `settle`, for a statement on whose heels COMMIT follows: nobody looks at its row in between. So it fails
 * where it stored nothing, by a division by zero, and Postgres does not come to COMMIT. It asks by itself whether it is
 * still the transaction of the claim.
 *
 * $1 key, $2 scope, $3 fence, $4 result, $5 kind of the result, $6 transaction of the claim
 */
export function settleLast(tables: Tables): string {
  return `
    with settled as (${settle(tables)})
    select 1 / count(*)::int as settled from settled where settled.transaction = $6::text`
}

/** The SQLSTATE of that failure: division_by_zero. */
export const NOTHING_SETTLED = '22012'
