import { age } from './age.js'
import type { Tables } from './tables.js'

export interface ReadRow {
  age: string
  /** The database's clock, in milliseconds since 1970. */
  now_ms: number
  /** Milliseconds until the key is no more from the future. */
  young_in_ms: number
  /** `null` where there is no row. */
  status: string | null
  fingerprint: Uint8Array | null
  result: string | null
  result_kind: string | null
  /** Milliseconds; negative once the lease is over, `null` without one. */
  lease_left_ms: number | null
  has_recovery_points: boolean
  fence: number | null
  on_unknown: string | null
}

/**
 * Reads what the table knows of an operation, and the age of its key. Always one row.
 *
 * $1 key, $2 scope, $3 birth, $4 retention, $5 skew (milliseconds)
 */
export function read(tables: Tables): string {
  return `
    select
      age.age,
      age.now_ms::float8 as now_ms,
      ($3::bigint - $5::bigint - age.now_ms)::float8 as young_in_ms,
      found.status,
      found.fingerprint,
      found.result,
      found.result_kind,
      found.fence,
      found.on_unknown,
      (extract(epoch from found.lease_expires_at - clock_timestamp()) * 1000)::float8 as lease_left_ms,
      exists (
        select from ${tables.recoveryPoints} as point where point.key = found.key and point.scope = found.scope
      ) as has_recovery_points
    from (${age(tables)}) as age
    left join ${tables.keys} as found on found.key = $1::text and found.scope = $2::text`
}
