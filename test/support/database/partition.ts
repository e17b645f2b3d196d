import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { runSql } from './runSql.js'

const SCRIPT = path.resolve(import.meta.dirname, '../../../prisma/partitioning/partition.sql')

/** Partitions the table of keys by the script that we publish. */
export async function partition(url: string): Promise<void> {
  await runSql(url, await readFile(SCRIPT, 'utf8'))
}

/** The same for an empty table, and in place of the partition of all rows that were there, 40 of three hours each. */
export async function partitionFinely(url: string): Promise<void> {
  await partition(url)
  await runSql(
    url,
    `do $$
    declare bound record;
    begin
      alter table idempotency_keys detach partition idempotency_keys_before;
      drop table idempotency_keys_before;
      for bound in
        select position, lpad(to_hex(from_ms), 12, '0') as low, lpad(to_hex(from_ms + 10800000), 12, '0') as high
        from (
          select position, (floor(extract(epoch from now()) / 10800) + position)::bigint * 10800000 as from_ms
          from generate_series(-30, 9) as position
        ) as starts
      loop
        execute format(
          'create table idempotency_keys_part_%s partition of idempotency_keys for values from (%L) to (%L) with (fillfactor = 70)',
          bound.position + 30,
          substr(bound.low, 1, 8) || '-' || substr(bound.low, 9),
          substr(bound.high, 1, 8) || '-' || substr(bound.high, 9)
        );
      end loop;
    end $$`,
  )
}
