import { isYoung } from './age.js'
import { bounded, restoredLockTimeout } from './bounds.js'
import type { Tables } from './tables.js'

export interface ClaimRow {
  fence: number
  backend: number
  transaction: string
}

/**
 * Claims an operation: a row comes back if and only if this transaction may run. It has no `with` and no `from`, because
 * most of its time goes into its plan, which Postgres makes anew for each.
 *
 * $1 key, $2 scope, $3 procedure, $4 fingerprint, $5 attempt, $6 the earliest and $7 the latest time to claim the key
 * (seconds since 1970), $8 lock timeout (milliseconds), $9 statement timeout, $10 idle timeout (with their units)
 */
export function claim(tables: Tables): string {
  return `
    insert into ${tables.keys} as claimed
      (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    select $1::text, $2::text, $3::text, $4::bytea, 'in_flight', 1, $5::int, clock_timestamp()
    where ${isYoung(tables, { earliest: '$6', latest: '$7' })}
      and ${bounded({ lock: '$8', statement: '$9', idle: '$10' })}
    on conflict (key, scope) do nothing
    returning
      claimed.fence,
      pg_backend_pid() as backend,
      pg_current_xact_id()::text as transaction,
      ${restoredLockTimeout}`
}
