import type { Tables } from '../sql/tables.js'

export interface PartitionRow {
  /** Its name, quoted, with its schema. */
  name: string
  /** Where its keys begin; `null` for the default partition, and for one that has no lower end. */
  from: string | null
  /** Where they end, itself not among them; `null` for the default partition, and for one that has no upper end. */
  to: string | null
  is_default: boolean
  /** Such as `fillfactor=70`. */
  options: string | null
  /** Whether all its keys are below a watermark that was raised at least a margin ago. */
  forgotten: boolean
}

/**
 * The partitions of the table, in the order of their keys; no row where it is not partitioned. What is forgotten is judged
 * as `sweep` judges it.
 *
 * $1 margin in milliseconds
 */
export function partitions({ keys, watermark }: Tables): string {
  return `
    with part as (
      select
        format('%I.%I', n.nspname, c.relname) as name,
        pg_get_expr(c.relpartbound, c.oid) as bound,
        array_to_string(c.reloptions, ', ') as options
      from pg_inherits as i
      join pg_class as c on c.oid = i.inhrelid
      join pg_namespace as n on n.oid = c.relnamespace
      where i.inhparent = '${keys}'::regclass and c.relispartition
    ),
    bounds as (
      select
        part.name,
        substring(part.bound from $$FROM \\('([^']+)'\\)$$) as low,
        substring(part.bound from $$TO \\('([^']+)'\\)$$) as high,
        part.bound = 'DEFAULT' as is_default,
        part.options
      from part
    )
    select
      bounds.name,
      bounds.low as "from",
      bounds.high as "to",
      bounds.is_default,
      bounds.options,
      coalesce(bounds.high collate "C" <= (
        select w.key from ${watermark} as w
        where w.raised_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
      ), false) as forgotten
    from bounds
    order by bounds.high collate "C" nulls last`
}
