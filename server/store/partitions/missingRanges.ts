export interface RangeRow {
  /** The first key of the range: twelve hexadecimal digits of a UUIDv7's millisecond, as the key spells them. */
  from: string
  /** The first key after it. */
  to: string
  /** When the range begins, in UTC, such as `20261201_0000`. */
  label: string
}

/**
 * The ranges of births from now on for which there is no partition yet: as long as one is meant to be, each beginning at a
 * multiple of that. Not one that reaches into a partition that is there, of whatever length.
 *
 * $1 where the last partition ends, or the smallest text; $2 length in milliseconds, $3 how many beyond the present one
 */
export const missingRanges = `
    with present as (
      select floor(extract(epoch from clock_timestamp()) * 1000 / $2::bigint)::bigint * $2::bigint as begins
    ),
    range as (
      select ms, lpad(to_hex(ms), 12, '0') as low, lpad(to_hex(ms + $2::bigint), 12, '0') as high
      from present, generate_series(present.begins, present.begins + $3::int * $2::bigint, $2::bigint) as ms
    ),
    spelt as (
      select
        substr(range.low, 1, 8) || '-' || substr(range.low, 9) as "from",
        substr(range.high, 1, 8) || '-' || substr(range.high, 9) as "to",
        to_char(to_timestamp(range.ms / 1000.0) at time zone 'UTC', 'YYYYMMDD_HH24MI') as label
      from range
    )
    select spelt."from", spelt."to", spelt.label
    from spelt
    where spelt."from" collate "C" >= $1::text
    order by spelt."from"`
