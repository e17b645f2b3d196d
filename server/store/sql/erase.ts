import { leftBehind } from './leftBehindRow.js'
import type { Tables } from './tables.js'

export interface ErasedRow {
  erased: number
  /** The last key of the batch. */
  last: string | null
}

/**
 * Erases one batch of a scope's operations: their results, and those of their recovery points. A tombstone stays, so that
 * the key never runs again; for one that was not settled it settles it, and the fence rises, so that its holder, should
 * it still be there, can bring nothing back. Only what was settled with a value is known to have been executed.
 *
 * There is no index by scope, so this reads on from the last batch's end. In the order of the keys, as every batch: two
 * erasures of one scope do not deadlock.
 *
 * $1 scope, $2 the last key of the batch before, $3 batch size
 */
export function erase(tables: Tables): string {
  return `
    with batch as materialized (
      select old.key, old.scope
      from ${tables.keys} as old
      where old.scope = $1::text
        and old.key > $2::text collate "C"
        and (old.status = 'settled' or ${leftBehind('old')})
        and (
          old.result_kind is distinct from 'tombstone'
          or exists (select from ${tables.recoveryPoints} as point where point.key = old.key and point.scope = old.scope)
        )
      order by old.key
      limit $3::int
      for update
    ),
    points as (
      delete from ${tables.recoveryPoints} as point using batch
      where point.key = batch.key and point.scope = batch.scope
    ),
    erased as (
      update ${tables.keys} as old
      set status = 'settled',
        fence = case when old.status = 'settled' then old.fence else old.fence + 1 end,
        result = case old.result_kind
          when 'tombstone' then old.result
          when 'value' then 'RESULT_ERASED'
          else 'OUTCOME_ERASED'
        end,
        result_kind = 'tombstone',
        settled_at = coalesce(old.settled_at, clock_timestamp()),
        lease_expires_at = null
      from batch
      where old.key = batch.key and old.scope = batch.scope
      returning old.key
    )
    select count(*)::int as erased, max(erased.key) as last from erased`
}
