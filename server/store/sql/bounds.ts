/** The numbers of the parameters that bound a claim: each a text, as Postgres writes the setting. */
export interface BoundParameters {
  /** Milliseconds. */
  lock: string
  /** With its unit, as an interval has to have it. */
  statement: string
  /** With its unit. */
  idle: string
}

/**
 * Part of the statements that claim: an expression that bounds the wait of its statement and the life of the
 * transaction, and is true. One trip does what would take six; it is to be computed once, before the statement begins to
 * wait for another transaction's row.
 * - lock_timeout ends that wait: Prisma's own timeout cannot, because its rollback would queue behind the wait. The
 *   application's value is kept in a setting of ours and put back by `restoredLockTimeout`, for it is the application's
 *   statements that come next.
 * - idle_in_transaction_session_timeout ends this transaction if its process is stopped or cut off, and
 *   statement_timeout if a statement of it hangs: without the two, a silent holder keeps the key for as long as TCP
 *   keepalive lets it. Where the application's own are shorter, they stay.
 */
export function bounded({ lock, statement, idle }: BoundParameters): string {
  return `case
        when set_config('idempotency.lock_timeout', current_setting('lock_timeout'), true) is not null
        then set_config('lock_timeout', ${lock}::text, true) is not null
      end
      and set_config('statement_timeout', ${shorter('statement_timeout', statement)}, true) is not null
      and set_config(
        'idle_in_transaction_session_timeout', ${shorter('idle_in_transaction_session_timeout', idle)}, true
      ) is not null`
}

/** The same as a `with` clause, for a statement that could compute it again: one that waits looks at its row twice. */
export function bounds(parameters: BoundParameters): string {
  return `bounds as materialized (select ${bounded(parameters)})`
}

/** The same for a statement that commits by itself: only its own wait needs a bound. */
export function lockBound(parameter: string): string {
  return `bounds as materialized (select set_config('lock_timeout', ${parameter}::text, true))`
}

/** In a `returning`: puts the application's lock_timeout back. A claim that is lost does not get there: end it. */
export const restoredLockTimeout =
  "set_config('lock_timeout', current_setting('idempotency.lock_timeout'), true) as lock_timeout"

/** A setting of 0 means no timeout at all. Settings come back with a unit, which an interval understands. */
function shorter(setting: string, parameter: string): string {
  return `case
          when current_setting('${setting}')::interval between '1us' and ${parameter}::text::interval
          then current_setting('${setting}')
          else ${parameter}::text
        end`
}
