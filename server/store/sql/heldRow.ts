export interface FenceRow {
  fence: number
}

/**
 * Where a holder's own row is: each of its statements proves the fence by this, and gives a row if it landed. No row
 * means that the lease was lost. $1 is the key, $2 the scope, $3 the fence.
 */
export const heldRow =
  "held.key = $1::text and held.scope = $2::text and held.fence = $3::int and held.status = 'in_flight'"
