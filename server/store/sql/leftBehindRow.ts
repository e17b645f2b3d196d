/**
 * Where a row is that an operator may decide: abandoned or released, never under a lease that lives. $1 is the key, $2 the
 * scope.
 */
export const leftBehindRow = `left_behind.key = $1::text
      and left_behind.scope = $2::text
      and (
        left_behind.status = 'released'
        or (left_behind.status = 'in_flight' and left_behind.lease_expires_at <= clock_timestamp())
      )`
