import { partitionInto } from '../../test/support/database/partition.js'

const HOUR = 3_600_000

/** Partitions an empty table into partitions of so many hours, from so many hours from now to so many. */
export async function partitionByHours(
  url: string,
  { hours, from, to }: { hours: number; from: number; to: number },
): Promise<void> {
  const now = Date.now()
  const parts = Array.from({ length: Math.ceil((to - from) / hours) }, (_, at) => ({
    name: `idempotency_keys_at_${at}`,
    fromMs: now + (from + at * hours) * HOUR,
    toMs: now + (from + (at + 1) * hours) * HOUR,
  }))
  await partitionInto(url, parts)
}
