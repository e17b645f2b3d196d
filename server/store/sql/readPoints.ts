import type { Tables } from './tables.js'

export interface PointRow {
  name: string
  result: string | null
  fence: number
}

/**
 * The recovery points of an operation, in the order in which they were recorded. They are reached one after the other,
 * so no two have one time.
 *
 * $1 key, $2 scope
 */
export function readPoints(tables: Tables): string {
  return `
    select point.name, point.result, point.fence
    from ${tables.recoveryPoints} as point
    where point.key = $1::text and point.scope = $2::text
    order by point.created_at`
}
