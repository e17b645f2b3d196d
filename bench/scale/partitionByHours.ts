import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { keyOf } from './rows.js'
import { queryOnce } from './watermark.js'

const SCRIPT = path.resolve(import.meta.dirname, '../../prisma/partitioning/partition.sql')

/** Partitions an empty table by the script that we publish, and then into partitions of so many hours from now, or before. */
export async function partitionByHours(
  url: string,
  { hours, from, to }: { hours: number; from: number; to: number },
): Promise<void> {
  await queryOnce(url, await readFile(SCRIPT, 'utf8'))
  const bound = (hour: string) => `substr(${keyOf(`(begun + (${hour}) * 3600000)::bigint`, `repeat('0', 32)`)}, 1, 13)`
  await queryOnce(
    url,
    `do $$
    declare
      begun bigint := (extract(epoch from now()) * 1000)::bigint;
      hour int;
    begin
      alter table idempotency_keys detach partition idempotency_keys_before;
      drop table idempotency_keys_before;
      for hour in select generate_series(${from}, ${to} - 1, ${hours}) loop
        execute format(
          'create table %I partition of idempotency_keys for values from (%L) to (%L) with (fillfactor = 70)',
          'idempotency_keys_at_' || hour, ${bound('hour')}, ${bound(`hour + ${hours}`)}
        );
      end loop;
    end $$`,
  )
}
