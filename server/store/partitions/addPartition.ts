import type { Tables } from '../sql/tables.js'

/** Whether the default partition has keys of a range, which then stay there. `table` is its name. $1 from, $2 to */
export const hasKeys = (table: string): string => `
    select exists (
      select from ${table} as key where key.key >= $1::text collate "C" and key.key < $2::text collate "C"
    ) as found`

/** Lets no two of us make partitions at once, and all others work. */
export const lockPartitions = ({ keys }: Tables): string => `lock table only ${keys} in share update exclusive mode`

/**
 * Makes a table that can become a partition. To make it as a partition at once would lock out all who use the others; to
 * attach it does not.
 */
export function createPartition({ keys }: Tables, { name, options }: { name: string; options: string | null }): string {
  const like = `create table ${name} (like ${keys} including defaults including constraints)`
  return options === null ? like : `${like} with (${options})`
}

/** Makes it a partition. Postgres reads the default partition meanwhile, whether it has such keys. */
export function attachPartition(
  { keys }: Tables,
  { name, from, to }: { name: string; from: string; to: string },
): string {
  return `alter table ${keys} attach partition ${name} for values from ('${literal(from)}') to ('${literal(to)}')`
}

/** A definition takes no parameters: what stands in it has to look like what it is. */
function literal(bound: string): string {
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}$/.test(bound)) throw new Error('the bound of a partition is no time of a UUIDv7')
  return bound
}
