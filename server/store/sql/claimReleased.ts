import { bounds, restoredLockTimeout } from './bounds.js'
import type { Tables } from './tables.js'

/**
 * Claims a row that lease mode released, in the transaction that settles it; a row comes back like that of `claim`. Not
 * one with recovery points: these name effects outside the database, which a transaction can neither repeat nor undo. It
 * has no age check, for a row that is there answers; and it never inserts, so it cannot bring a swept key back.
 *
 * $1 key, $2 scope, $3 fingerprint, $4 lock timeout (milliseconds), $5 statement timeout, $6 idle timeout (with units)
 */
export function claimReleased(tables: Tables): string {
  return `
    with ${bounds({ lock: '$4', statement: '$5', idle: '$6' })}
    update ${tables.keys} as released
    set status = 'in_flight', fence = released.fence + 1, attempts = released.attempts + 1,
      claimed_at = clock_timestamp(), lease_expires_at = null, on_unknown = null
    from bounds
    where released.key = $1::text
      and released.scope = $2::text
      and released.fingerprint = $3::bytea
      and released.status = 'released'
      and not exists (
        select from ${tables.recoveryPoints} as point where point.key = released.key and point.scope = released.scope
      )
    returning
      released.fence,
      pg_backend_pid() as backend,
      pg_current_xact_id()::text as transaction,
      ${restoredLockTimeout}`
}
