/** The numbers of the parameters that bound a claim: each a text, in milliseconds. */
export interface BoundParameters {
  lock: string
  statement: string
  idle: string
}

/**
 * Part of the statements that claim: two `with` clauses that bound the wait of the statement and the life of the
 * transaction. One trip does what would take six: Postgres computes them before the statement, which selects from them,
 * begins to wait for another transaction's row.
 * - lock_timeout ends that wait: Prisma's own timeout cannot, because its rollback would queue behind the wait. The
 *   application's value is put back by `restoredLockTimeout`, for it is the application's statements that come next.
 * - idle_in_transaction_session_timeout ends this transaction if its process is stopped or cut off, and
 *   statement_timeout if a statement of it hangs: without the two, a silent holder keeps the key for as long as TCP
 *   keepalive lets it. Where the application's own are shorter, they stay.
 */
export function bounds({ lock, statement, idle }: BoundParameters): string {
  return `previous as materialized (
      select
        current_setting('lock_timeout') as lock_timeout,
        current_setting('statement_timeout') as statement_timeout,
        current_setting('idle_in_transaction_session_timeout') as idle_timeout
    ),
    bounds as materialized (
      select
        set_config('lock_timeout', ${lock}::text, true),
        set_config('statement_timeout', ${shorter('statement_timeout', statement)}, true),
        set_config('idle_in_transaction_session_timeout', ${shorter('idle_timeout', idle)}, true)
      from previous
    )`
}

/** The same for a statement that commits by itself: only its own wait needs a bound. */
export function lockBound(parameter: string): string {
  return `bounds as materialized (select set_config('lock_timeout', ${parameter}::text, true))`
}

/** In a `returning`: puts the application's lock_timeout back. A claim that is lost does not get there: end it. */
export const restoredLockTimeout =
  "(select set_config('lock_timeout', previous.lock_timeout, true) from previous) as lock_timeout"

/** A setting of 0 means no timeout at all. Settings come back with a unit, which an interval understands. */
function shorter(setting: string, parameter: string): string {
  return `case
          when previous.${setting}::interval > interval '0'
            and previous.${setting}::interval < make_interval(secs => ${parameter}::float8 / 1000)
          then previous.${setting}
          else ${parameter}::text
        end`
}
