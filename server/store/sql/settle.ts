import type { Tables } from './tables.js'

export interface SettleRow {
  backend: number
  transaction: string
}

/**
 * Stores the outcome of a claim. A row comes back if and only if it was stored. In a transaction in which any statement
 * failed, this one fails too: it is the canary for errors that a handler swallowed.
 *
 * The watermark is asked again, because a claim can wait behind several winners for longer than a sweep needs: a swept
 * key that got its claim that late must not come back. Not for a row that was there before (its fence is above 1): that
 * one was not swept, and is locked against it.
 *
 * $1 key, $2 scope, $3 fence, $4 result, $5 kind of the result
 */
export function settle(tables: Tables): string {
  return `
    update ${tables.keys} as claimed
    set status = 'settled', result = $4::text, result_kind = $5::text, settled_at = clock_timestamp()
    where claimed.key = $1::text
      and claimed.scope = $2::text
      and claimed.fence = $3::int
      and claimed.status = 'in_flight'
      and (claimed.fence > 1 or not exists (select from ${tables.watermark} as w where claimed.key < w.key))
    returning pg_backend_pid() as backend, pg_current_xact_id()::text as transaction`
}
