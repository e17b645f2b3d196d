import type { Tables } from '../sql/tables.js'

/**
 * Bounds each wait for a lock, and the transaction should its process be stopped while it locks others out.
 *
 * $1 lock timeout, $2 idle timeout (milliseconds)
 */
export const boundLocks = `
    select set_config('lock_timeout', $1::text, true), set_config('idle_in_transaction_session_timeout', $2::text, true)`

/** Waits for whoever has written to the partition, and lets nobody write to it until the transaction ends. */
export const lockPartition = (name: string): string => `lock table ${name} in exclusive mode`

/** Whether a partition has a row that `sweep` would not delete: a lease that lives, or what a person has to decide. */
export const hasKept = (name: string): string => `
    select exists (
      select from ${name} as old
      where old.status = 'in_flight' and (old.lease_expires_at > clock_timestamp() or old.on_unknown = 'manual')
    ) as found`

export interface DeletedPointsRow {
  deleted: number
  /** The key that the batch ended with; `null` where there was none. */
  last: string | null
}

/**
 * Deletes a batch of the recovery points of operations that are settled: nobody asks for those again. A partition that is
 * dropped takes none along, and Postgres looks for those that are left while it locks everybody out.
 *
 * $1 from, $2 to, $3 batch size
 */
export function deleteSettledPoints({ recoveryPoints }: Tables, name: string): string {
  return `
    with batch as materialized (
      select point.key, point.scope, point.name
      from ${recoveryPoints} as point
      join ${name} as old on old.key = point.key and old.scope = point.scope
      where point.key >= $1::text collate "C" and point.key < $2::text collate "C"
        -- Said of both, so that neither is read from its beginning for each batch.
        and old.key >= $1::text collate "C"
        and old.status = 'settled'
      order by point.key
      limit $3::int
      for update of point skip locked
    ),
    deleted as (
      delete from ${recoveryPoints} as point using batch
      where point.key = batch.key and point.scope = batch.scope and point.name = batch.name
      returning point.key
    )
    select count(*)::int as deleted, max(deleted.key) as last from deleted`
}

/** The rest of them: of operations that are released or abandoned. Together with these, or they would be done again. $1 from, $2 to */
export const deletePoints = ({ recoveryPoints }: Tables): string => `
    delete from ${recoveryPoints} as point
    where point.key >= $1::text collate "C" and point.key < $2::text collate "C"`

/**
 * Takes a partition off the table. It waits for everybody who has claimed or settled in a transaction that is open, and
 * everybody waits for it. (Postgres has a `concurrently` that locks nobody out, and refuses it where a default partition is.)
 */
export const detachPartition = ({ keys }: Tables, name: string): string =>
  `alter table ${keys} detach partition ${name}`

export const dropPartition = (name: string): string => `drop table ${name}`
