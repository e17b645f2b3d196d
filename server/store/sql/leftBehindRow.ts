/**
 * Whether a row was left behind: abandoned or released, never under a lease that lives. Only such a row may be decided
 * by another than its holder.
 *
 * @param row the table's alias in the statement
 */
export function leftBehind(row: string): string {
  return `(
        ${row}.status = 'released'
        or (${row}.status = 'in_flight' and ${row}.lease_expires_at <= clock_timestamp())
      )`
}

/** Where a row is that an operator may decide. $1 is the key, $2 the scope. */
export const leftBehindRow = `left_behind.key = $1::text
      and left_behind.scope = $2::text
      and ${leftBehind('left_behind')}`
