import type { Tables } from './tables.js'

/**
 * Part of the statements that ask for a key's age: one row with `age`, as the type `Age` spells it, and the database's clock. In each of them
 * $1 is the key, $3 its birth, $4 the retention and $5 the tolerated skew, in milliseconds.
 */
export function age({ watermark }: Tables): string {
  return ageAgainst(`(select w.key from ${watermark} as w)`)
}

/**
 * Whether a key may be claimed now, as a condition: `age` would say 'young'. $1 is the key.
 *
 * @param times the numbers of two parameters, in seconds since 1970: what the key's birth, skew and retention come to
 */
export function isYoung({ watermark }: Tables, { earliest, latest }: { earliest: string; latest: string }): string {
  return `clock_timestamp() between to_timestamp(${earliest}::float8) and to_timestamp(${latest}::float8)
      and not exists (select from ${watermark} as w where w.key > $1::text collate "C")`
}

/** `age` against a watermark that the statement has read by itself. */
export function ageAgainst(watermark: string): string {
  return `
    select case
      when $3::bigint > clock.now_ms + $5::bigint then 'from the future'
      when $3::bigint < clock.now_ms - $4::bigint then 'too old'
      when $1::text collate "C" < ${watermark} then 'too old'
      else 'young'
    end as age,
    clock.now_ms
    from (select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms) as clock`
}
