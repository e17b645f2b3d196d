import type { Tables } from './tables.js'

/**
 * Makes the watermark's row where there is none, as the migration does. It raises nothing: a row that appears cannot be
 * locked by a claim that is under way, so the first raise has to come a margin later.
 */
export function createWatermark(tables: Tables): string {
  return `
    insert into ${tables.watermark} (id, key, raised_at)
    values (1, '00000000-0000-7000-8000-000000000000', clock_timestamp())
    on conflict (id) do nothing
    returning id`
}
