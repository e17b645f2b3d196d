import { age } from './age.js'
import type { Tables } from './tables.js'

export interface ClaimRow {
  backend: number
  transaction: string
}

/**
 * Claims an operation: a row comes back if and only if this transaction may run.
 *
 * One trip does what would take six. Postgres computes a `with` before the insert that selects from it, so the bounds
 * hold when the insert begins to wait for another transaction's row.
 * - lock_timeout ends that wait: Prisma's own timeout cannot, because its rollback would queue behind the wait. The
 *   application's value is put back at once, for it is the application's statements that come next.
 * - idle_in_transaction_session_timeout ends this transaction if its process is stopped or cut off, and
 *   statement_timeout if a statement of it hangs: without the two, a silent holder keeps the key for as long as TCP
 *   keepalive lets it. Where the application's own are shorter, they stay.
 *
 * $1 key, $2 scope, $3 birth, $4 retention, $5 skew, $6 procedure, $7 fingerprint, $8 attempt,
 * $9 lock timeout, $10 statement timeout, $11 idle timeout (milliseconds)
 */
export function claim(tables: Tables): string {
  return `
    with age as materialized (${age(tables)}),
    previous as materialized (
      select
        current_setting('lock_timeout') as lock_timeout,
        current_setting('statement_timeout') as statement_timeout,
        current_setting('idle_in_transaction_session_timeout') as idle_timeout
    ),
    bounds as materialized (
      select
        set_config('lock_timeout', $9::text, true),
        set_config('statement_timeout', ${shorter('statement_timeout', '$10')}, true),
        set_config('idle_in_transaction_session_timeout', ${shorter('idle_timeout', '$11')}, true)
      from previous
    )
    insert into ${tables.keys}
      (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    select $1::text, $2::text, $6::text, $7::bytea, 'in_flight', 1, $8::int, clock_timestamp()
    from age, previous, bounds
    where age.age = 'young'
    on conflict (key, scope) do nothing
    returning
      pg_backend_pid() as backend,
      pg_current_xact_id()::text as transaction,
      (select set_config('lock_timeout', previous.lock_timeout, true) from previous) as lock_timeout`
}

/** A setting of 0 means no timeout at all. Settings come back with a unit, which an interval understands. */
function shorter(setting: string, parameter: string): string {
  return `case
          when previous.${setting}::interval > interval '0'
            and previous.${setting}::interval < make_interval(secs => ${parameter}::float8 / 1000)
          then previous.${setting}
          else ${parameter}::text
        end`
}
