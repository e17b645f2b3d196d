import { ageAgainst } from './age.js'
import { lockBound } from './bounds.js'
import type { Tables } from './tables.js'
import type { TakenRow } from './takeOver.js'

export type ClaimedRow = TakenRow

/**
 * Claims an operation for lease mode, and commits that at once: a row comes back if and only if this attempt may run.
 * The watermark is locked against a raise, which would otherwise commit while the insert waits: there is no later
 * statement, as the settle is in transaction mode, that could notice.
 *
 * $1 key, $2 scope, $3 birth, $4 retention, $5 skew, $6 procedure, $7 fingerprint, $8 attempt,
 * $9 lock timeout, $10 lease (milliseconds), $11 on_unknown
 */
export function claimLease(tables: Tables): string {
  return `
    with ${lockBound('$9')},
    mark as materialized (select w.key from ${tables.watermark} as w, bounds for share of w),
    age as materialized (${ageAgainst('(select mark.key from mark)')})
    insert into ${tables.keys} as claimed
      (key, scope, procedure, fingerprint, status, fence, on_unknown, attempts, claimed_at, lease_expires_at)
    select $1::text, $2::text, $6::text, $7::bytea, 'in_flight', 1, $11::text, $8::int, clock_timestamp(),
      clock_timestamp() + make_interval(secs => $10::float8 / 1000)
    from age, bounds
    where age.age = 'young'
    on conflict (key, scope) do nothing
    returning claimed.fence, claimed.on_unknown`
}
