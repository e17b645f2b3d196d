import type { Tables } from './tables.js'

export interface SweptRow {
  deleted: number
}

/**
 * Deletes one batch of rows below the watermark: a range of the primary key, for a UUIDv7 says when it was born. Only
 * below a watermark that was raised at least a margin ago: whoever claimed before the raise has settled or is gone.
 *
 * Never a lease that lives, and never an abandoned row whose outcome a person has to decide. A row that somebody works
 * on is passed by and found by a later sweep.
 *
 * $1 margin in milliseconds, $2 batch size
 */
export function sweep(tables: Tables): string {
  return `
    with batch as materialized (
      select old.key, old.scope
      from ${tables.keys} as old
      where old.key < (
          select w.key from ${tables.watermark} as w
          where w.raised_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
        )
        and not (
          old.status = 'in_flight' and (old.lease_expires_at > clock_timestamp() or old.on_unknown = 'manual')
        )
      order by old.key
      limit $2::int
      for update skip locked
    ),
    deleted as (
      delete from ${tables.keys} as old using batch
      where old.key = batch.key and old.scope = batch.scope
      returning 1
    )
    select count(*)::int as deleted from deleted`
}
