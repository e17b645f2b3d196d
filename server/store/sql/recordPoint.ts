import { heldRow } from './heldRow.js'
import type { Tables } from './tables.js'

export interface RecordedRow {
  fence: number
  backend: number
  transaction: string
}

/**
 * Records a recovery point, if this fence still holds the operation: a row comes back if it was recorded. The lock lets
 * no takeover in before it is.
 *
 * $1 key, $2 scope, $3 fence, $4 name, $5 result
 */
export function recordPoint(tables: Tables): string {
  return `
    insert into ${tables.recoveryPoints} as point (key, scope, name, result, fence, created_at)
    select held.key, held.scope, $4::text, $5::text, held.fence, clock_timestamp()
    from ${tables.keys} as held
    where ${heldRow}
    for share
    on conflict (key, scope, name) do nothing
    returning point.fence, pg_backend_pid() as backend, pg_current_xact_id()::text as transaction`
}
