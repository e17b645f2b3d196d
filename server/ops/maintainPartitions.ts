import { z } from 'zod'
import { DAY, LONGEST_TIMER_MS, milliseconds, readOptions } from '../options.js'
import type { Drop, Partition, Partitioner } from '../store/partitions/partitioner.js'

export interface MaintainPartitionsOptions {
  /** For how long the births of one partition last, in ms. Default one day. */
  partitionMs?: number
  /** How many partitions there are beyond that of the present. Default 7. */
  ahead?: number
  /** How long everybody else may wait for a partition to be dropped, in ms; a try that takes longer is given up. Default 2,000. */
  lockMs?: number
  /** How many rows one statement deletes at the most, where rows are deleted. Default 1,000. */
  batchSize?: number
}

/** What one call did. */
export interface MaintainedPartitions {
  /** Partitions that were made. */
  made: number
  /** Partitions that were dropped, with all that was in them. */
  dropped: number
  /** Partitions whose keys are forgotten and that are left for now: they hold what has to stay, or were in use. */
  left: number
  /** Rows that were deleted one by one: from the default partition, and from partitions with something that has to stay. */
  deleted: number
  /** Whether the watermark was raised: what is below it can go by a call that comes a margin later. */
  raised: boolean
}

/** The shortest wait for a lock: longer than a transaction of most applications. */
const FIRST_LOCK_MS = 50

const MINUTE = 60_000

const schema = z.strictObject({
  // A retention of three days has four of them: few enough that a plan costs nothing more.
  partitionMs: milliseconds(MINUTE, Number.MAX_SAFE_INTEGER)
    .refine((ms) => ms % MINUTE === 0, 'must be whole minutes')
    .default(DAY),
  // A cron job that fails on Friday evening is mended on Monday, and did no harm.
  ahead: z.int().min(1).max(1000).default(7),
  // While it waits, all others wait behind it. Transactions that are longer than this are rare, and so is a drop.
  lockMs: milliseconds(1, LONGEST_TIMER_MS).default(2000),
  batchSize: z.int().min(1).max(100_000).default(1000),
})

type Settings = z.infer<typeof schema>

/**
 * Takes the place of `sweepOnce` where the table is partitioned (docs/partitions.md). Makes partitions ahead of time, drops
 * those whose keys are all forgotten, deletes what is forgotten in the default one, and raises the watermark for a later
 * call. Call it from a cron job, at least twice per partition. What a sweep would leave alone stays here too.
 *
 * @throws TypeError where an option is out of bounds; Error where the table is not partitioned; the database's own error
 *   where it failed, and then nothing is lost: the next call goes on
 */
export async function maintainPartitions(
  { partitioner }: { partitioner: Partitioner },
  options: MaintainPartitionsOptions = {},
): Promise<MaintainedPartitions> {
  const settings = readOptions(schema, options, 'maintainPartitions')
  const partitions = await partitioner.partitions()
  if (partitions === undefined) {
    throw new Error(
      'maintainPartitions: the table idempotency_keys has no default partition. Partition it first, by prisma/partitioning/partition.sql of this package; or call sweepOnce, which needs no partitions.',
    )
  }
  // Before anything that can fail: a time without a partition costs more than one that stays for too long.
  const made = await patiently(settings.lockMs, (lockMs) => partitioner.makeAhead(settings, lockMs))
  let [dropped, left, deleted] = [0, 0, 0]
  for (const partition of partitions.forgotten) {
    try {
      const end = await drop(partitioner, partition, settings)
      if (end === 'dropped') dropped += 1
      else left += 1
      // Not where it was only in use: then all of it goes with the next call, which costs less.
      if (end === 'kept') deleted += await inBatches(settings, (size) => partitioner.deleteBatch(partition, size))
    } catch (error) {
      // Not an error where another call was faster.
      if (await isThere(partitioner, partition)) throw error
    }
  }
  deleted += await inBatches(settings, (size) => partitioner.deleteBatch(partitions.rest, size))
  // After the rest, as a sweep does: it looks at a watermark that an earlier call had raised.
  const raised = await partitioner.raiseWatermark()
  return { made: made === 'in use' ? 0 : made, dropped, left, deleted, raised }
}

async function isThere(partitioner: Partitioner, { name }: Partition): Promise<boolean> {
  const now = await partitioner.partitions()
  return now === undefined || now.forgotten.some((partition) => partition.name === name)
}

async function drop(partitioner: Partitioner, partition: Partition, settings: Settings): Promise<Drop> {
  if (await partitioner.hasKept(partition)) return 'kept'
  let after: string | null = null
  await inBatches(settings, async (batchSize) => {
    const batch = await partitioner.deletePoints(partition, { after, batchSize })
    after = batch.last
    return batch.deleted
  })
  return patiently(settings.lockMs, (lockMs) => partitioner.drop(partition, lockMs))
}

/** Begins with short waits, behind which others hardly wait, and lets them through before each longer one. */
async function patiently<End>(mostMs: number, attempt: (lockMs: number) => Promise<End | 'in use'>) {
  for (let lockMs = Math.min(FIRST_LOCK_MS, mostMs); ; lockMs = Math.min(lockMs * 2, mostMs)) {
    const end = await attempt(lockMs)
    if (end !== 'in use' || lockMs === mostMs) return end
    await new Promise((resolve) => setTimeout(resolve, lockMs))
  }
}

async function inBatches({ batchSize }: Settings, run: (batchSize: number) => Promise<number>): Promise<number> {
  for (let deleted = 0; ; ) {
    const batch = await run(batchSize)
    deleted += batch
    if (batch < batchSize) return deleted
  }
}
