import { COLUMNS, keyOf, settledRow } from './rows.js'
import { queryOnce } from './watermark.js'

/** Settled operations whose births are spread evenly. */
export interface Filling {
  rows: number
  /** The age of the oldest and of the youngest, in ms. */
  ages: [number, number]
}

const CONNECTIONS = 2

/**
 * Fills the table of keys on the server, in the order of births, as time would have. In two halves at once: an insert runs
 * on one core.
 */
export async function fillKeys(url: string, { rows, ages: [oldest, youngest] }: Filling): Promise<void> {
  const middle = (at: number) => oldest - ((oldest - youngest) * at) / CONNECTIONS
  await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, at) =>
      addKeys(url, { rows: Math.ceil(rows / CONNECTIONS), ages: [middle(at), middle(at + 1)] }),
    ),
  )
  await queryOnce(url, 'vacuum (analyze) idempotency_keys')
}

/** Adds some to those that are there. */
export async function addKeys(url: string, { rows, ages: [oldest, youngest] }: Filling): Promise<void> {
  await queryOnce(
    url,
    `insert into idempotency_keys ${COLUMNS}
    select ${settledRow(keyOf('made.ms', 'made.random'), 'made.random')}
    from (
      select
        (extract(epoch from now()) * 1000 - ${oldest} + ${oldest - youngest}::float8 * n / ${rows})::bigint as ms,
        md5(clock_timestamp()::text || n) as random
      from generate_series(1, ${rows}) as n
    ) as made`,
  )
}
