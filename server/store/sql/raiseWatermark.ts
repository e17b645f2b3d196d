import type { Tables } from './tables.js'

export interface WatermarkRow {
  key: string
}

/**
 * Raises the watermark to the keys whose retention and a margin are over. It never goes down, and stays where it is
 * until a margin has passed since the last time: a sweep deletes only below a watermark of some age, so one that was
 * raised at every sweep would never let it delete.
 *
 * The smallest UUIDv7 of a millisecond is its 48 bits, the version, and zeros.
 *
 * $1 margin, $2 retention (milliseconds)
 */
export function raiseWatermark(tables: Tables): string {
  return `
    with target as (
      select lpad(to_hex(greatest(0, (extract(epoch from clock_timestamp()) * 1000)::bigint - $2::bigint - $1::bigint)), 12, '0')
        as millisecond
    ),
    raised as (
      select substr(millisecond, 1, 8) || '-' || substr(millisecond, 9, 4) || '-7000-8000-000000000000' as key from target
    )
    update ${tables.watermark} as w
    set key = raised.key, raised_at = clock_timestamp()
    from raised
    where w.key < raised.key and w.raised_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
    returning w.key`
}
