import type { Tables } from './tables.js'

export interface SettledRow {
  fingerprint: Uint8Array
  result: string | null
  result_kind: string | null
  fence: number
}

/**
 * Reads how an operation was settled; no row where it is not. That is what most retries ask, so it asks nothing else.
 *
 * $1 key, $2 scope
 */
export function readSettled(tables: Tables): string {
  return `
    select found.fingerprint, found.result, found.result_kind, found.fence
    from ${tables.keys} as found
    where found.key = $1::text and found.scope = $2::text and found.status = 'settled'`
}
