import type { TestDatabase } from '../../support/database/testDatabase.js'
import type { Keys } from './perform.js'
import type { Payload } from './steps.js'
import { OPERATIONS, type OperationName, type Row, type Tables } from './world.js'

/** A row with all its columns, as Postgres writes it into JSON, and what its lease is at this moment. */
export interface SeenRow {
  fingerprint: string
  status: Row['status']
  fence: number
  attempts: number
  on_unknown: Row['onUnknown']
  result: string | null
  result_kind: string | null
  lease: Row['lease']
}

export interface SeenPoint {
  name: string
  result: string | null
  fence: number
}

/** What the tables hold, asked past the code under test. */
export interface Observed {
  rows: Record<OperationName, { row: SeenRow; points: SeenPoint[] } | null>
  orders: string[]
  watermark: Tables['watermark']
}

type Named<T> = T & { key: string; scope: string }

const EVERYTHING = `
  select
    (select coalesce(jsonb_agg(to_jsonb(k) || jsonb_build_object('lease',
      case when k.lease_expires_at is null then 'none' when k.lease_expires_at > clock_timestamp() then 'lives' else 'over' end)), '[]')
      from idempotency_keys as k) as rows,
    (select coalesce(jsonb_agg(to_jsonb(p) order by p.name), '[]') from idempotency_recovery_points as p) as points,
    (select coalesce(jsonb_agg(o.item order by o.item collate "C"), '[]') from orders as o) as orders,
    (select case when w.raised_at > '-infinity' then jsonb_build_object(
      'hours', floor((extract(epoch from clock_timestamp())
        - ('x' || replace(left(w.key, 13), '-', ''))::bit(48)::bigint / 1000.0) / 3600),
      'marginPassed', w.raised_at <= clock_timestamp() - interval '60 seconds') end
      from idempotency_watermark as w) as watermark`

export async function observe(db: TestDatabase, keys: Keys): Promise<Observed> {
  interface Everything extends Pick<Observed, 'orders' | 'watermark'> {
    rows: Named<SeenRow>[]
    points: Named<SeenPoint>[]
  }
  const [seen] = await db.query<Everything>(EVERYTHING)
  if (seen === undefined) throw new Error('the look at the tables gave no row')
  const of = (operation: OperationName) => {
    const isOf = ({ key, scope }: Named<object>) => key === keys[operation] && scope === OPERATIONS[operation].scope
    const row = seen.rows.find(isOf)
    return row === undefined ? null : { row, points: seen.points.filter(isOf) }
  }
  const rows = { old: of('old'), 'old elsewhere': of('old elsewhere'), older: of('older') }
  return { rows, orders: seen.orders, watermark: seen.watermark }
}

/** The same in the words of the model. */
export function tablesOf({ rows, orders, watermark }: Observed): Tables {
  const of = (operation: OperationName): Row | null => {
    const seen = rows[operation]
    if (seen === null) return null
    const { fingerprint, status, fence, attempts, on_unknown: onUnknown, lease, result, result_kind: kind } = seen.row
    return {
      ...{ payload: Number(fingerprint.slice(-2)) as Payload, status, fence, attempts, onUnknown, lease },
      settled: kind === null ? null : { kind, text: result },
      points: Object.fromEntries(
        seen.points.map(({ name, ...point }) => [name, { result: point.result, fence: point.fence }]),
      ),
    }
  }
  return { rows: { old: of('old'), 'old elsewhere': of('old elsewhere'), older: of('older') }, orders, watermark }
}
