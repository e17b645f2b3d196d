import { age } from './age.js'
import { bounds, restoredLockTimeout } from './bounds.js'
import type { Tables } from './tables.js'

export interface ClaimRow {
  fence: number
  backend: number
  transaction: string
}

/**
 * Claims an operation: a row comes back if and only if this transaction may run.
 *
 * $1 key, $2 scope, $3 birth, $4 retention, $5 skew, $6 procedure, $7 fingerprint, $8 attempt,
 * $9 lock timeout, $10 statement timeout, $11 idle timeout (milliseconds)
 */
export function claim(tables: Tables): string {
  return `
    with age as materialized (${age(tables)}),
    ${bounds({ lock: '$9', statement: '$10', idle: '$11' })}
    insert into ${tables.keys} as claimed
      (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    select $1::text, $2::text, $6::text, $7::bytea, 'in_flight', 1, $8::int, clock_timestamp()
    from age, previous, bounds
    where age.age = 'young'
    on conflict (key, scope) do nothing
    returning
      claimed.fence,
      pg_backend_pid() as backend,
      pg_current_xact_id()::text as transaction,
      ${restoredLockTimeout}`
}
