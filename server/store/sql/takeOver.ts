import { lockBound } from './bounds.js'
import type { Tables } from './tables.js'

export interface TakenRow {
  fence: number
  /** The policy of the row, which governs, and not that of this caller. */
  on_unknown: string
}

/**
 * Takes over an operation that was released, or whose lease is over and whose policy is to try again. The fence rises,
 * so that the holder before can change nothing any more. It never inserts: an upsert would bring a swept key back. It
 * has no age check: a row that is there answers. And it names the fingerprint: an abandoned claim is taken over by a
 * repeat, never by another payload.
 *
 * $1 key, $2 scope, $3 fingerprint, $4 lock timeout, $5 lease (milliseconds), $6 on_unknown for a row without one
 */
export function takeOver(tables: Tables): string {
  return `
    with ${lockBound('$4')}
    update ${tables.keys} as taken
    set status = 'in_flight', fence = taken.fence + 1, attempts = taken.attempts + 1, claimed_at = clock_timestamp(),
      lease_expires_at = clock_timestamp() + make_interval(secs => $5::float8 / 1000),
      on_unknown = coalesce(taken.on_unknown, $6::text)
    from bounds
    where taken.key = $1::text
      and taken.scope = $2::text
      and taken.fingerprint = $3::bytea
      and (
        taken.status = 'released'
        or (taken.status = 'in_flight' and taken.lease_expires_at <= clock_timestamp() and taken.on_unknown = 'retry')
      )
    returning taken.fence, taken.on_unknown`
}
