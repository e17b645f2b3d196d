import { z } from 'zod'
import { readOptions } from '../options.js'
import type { Sweeper } from '../store/keyStore.js'

export interface SweepOptions {
  /** How many rows one statement deletes at the most. Default 1,000. */
  batchSize?: number
}

/** What one sweep did. */
export interface Swept {
  /** Rows that are gone. */
  deleted: number
  /** Whether the watermark was raised: what is below it can be deleted by a sweep that comes a margin later. */
  raised: boolean
}

const schema = z.strictObject({
  // Small enough to hold locks for milliseconds, large enough that a million rows are a thousand statements.
  batchSize: z.int().min(1).max(100_000).default(1000),
})

/**
 * Forgets keys that are older than `retentionMs`: deletes what an earlier sweep had marked, then raises the watermark
 * for a later one. Call it from a cron job, every few minutes to once a day, in as many processes as you like. A key
 * that was swept is never executed again; sent once more, it is refused with KEY_TOO_OLD.
 *
 * @throws TypeError where an option is out of bounds; the database's own error where it failed, and then nothing is
 *   lost: the next sweep goes on where this one stopped
 */
export async function sweepOnce({ sweeper }: { sweeper: Sweeper }, options: SweepOptions = {}): Promise<Swept> {
  const { batchSize } = readOptions(schema, options, 'sweepOnce')
  let deleted = 0
  for (;;) {
    const batch = await sweeper.deleteBatch(batchSize)
    deleted += batch
    if (batch < batchSize) break
  }
  // Committed by itself, and after the deletes: they look at a watermark that an earlier sweep had raised.
  return { deleted, raised: await sweeper.raiseWatermark() }
}
