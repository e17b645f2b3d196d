import { type SweptRow, sweep } from '../sql/sweep.js'
import { tablesIn } from '../sql/tables.js'
import type { RunSql, SqlDatabase } from '../sqlDatabase.js'
import { SWEEP_MARGIN_MS, sqlSweeper } from '../sqlSweeper.js'
import { attachPartition, createPartition, hasKeys, lockPartitions } from './addPartition.js'
import {
  boundLocks,
  type DeletedPointsRow,
  deletePoints,
  deleteSettledPoints,
  detachPartition,
  dropPartition,
  hasKept,
  lockPartition,
} from './dropPartition.js'
import { missingRanges, type RangeRow } from './missingRanges.js'
import type { Drop, Partition, Partitioner, PartitionPlan } from './partitioner.js'
import { type PartitionRow, partitions } from './partitions.js'

/**
 * A partition that is full is read once before it is dropped, and the default one before another is attached. Nobody but
 * who works on that partition waits for it, so it may take its time.
 */
const READING_MS = 15 * 60_000
/** While others wait for us, we do nothing but the next statement: a process that does not send it is not there. */
const IDLE_MS = 5000

/** Where a bound that is missing lies. */
const SMALLEST = ''

interface FoundRow {
  found: boolean
}

/** Makes and drops the partitions of the table of keys. */
export function sqlPartitioner<Tx>(
  database: Pick<SqlDatabase<Tx>, 'run' | 'transaction' | 'faultOf'>,
  settings: { schema: string | undefined; retentionMs: number },
): Partitioner {
  const tables = tablesIn(settings.schema)
  const { raiseWatermark } = sqlSweeper(database, settings)

  const list = (run: RunSql) => run<PartitionRow>(partitions(tables), [SWEEP_MARGIN_MS])

  /** Runs `body` with bounds on its locks, and undoes it where one is not had. */
  const locking = async <T>(lockMs: number, body: (run: RunSql) => Promise<T>): Promise<T | 'in use'> => {
    try {
      return await database.transaction({ timeoutMs: READING_MS, maxWaitMs: READING_MS }, async ({ run }) => {
        await run(boundLocks, [String(lockMs), String(IDLE_MS)])
        return body(run)
      })
    } catch (error) {
      const fault = database.faultOf(error)
      if (fault === 'blocked' || fault === 'conflict') return 'in use'
      throw error
    }
  }

  return {
    async partitions() {
      const rows = await list(database.run)
      const rest = rows.find((row) => row.is_default)
      return rest && { rest, forgotten: rows.filter((row) => row.forgotten) }
    },

    makeAhead: ({ partitionMs, ahead }: PartitionPlan, lockMs) =>
      locking(lockMs, async (run) => {
        await run(lockPartitions(tables), [])
        const rows = await list(run)
        const rest = rows.find((row) => row.is_default)
        if (rest === undefined) return 0
        const last = rows.reduce((end, { to }) => (to !== null && to > end ? to : end), SMALLEST)
        const ranges = await run<RangeRow>(missingRanges, [last, BigInt(partitionMs), ahead])
        let made = 0
        for (const { from, to, label } of ranges) {
          const [taken] = await run<FoundRow>(hasKeys(rest.name), [from, to])
          if (taken?.found !== false) continue
          const name = besides(rest.name, label)
          await run(createPartition(tables, { name, options: rest.options }), [])
          await run(attachPartition(tables, { name, from, to }), [])
          made += 1
        }
        return made
      }),

    async hasKept({ name }) {
      const [row] = await database.run<FoundRow>(hasKept(name), [])
      return row?.found !== false
    },

    async deletePoints(partition, { after, batchSize }) {
      const [from, to] = ends(partition)
      const sql = deleteSettledPoints(tables, partition.name)
      const [row] = await database.run<DeletedPointsRow>(sql, [after ?? from, to, batchSize])
      return row ?? { deleted: 0, last: null }
    },

    drop: (partition, lockMs): Promise<Drop> =>
      locking(lockMs, async (run) => {
        const { name } = partition
        await run(lockPartition(name), [])
        // From here on nobody takes it over, claims it again or records a point.
        const [kept] = await run<FoundRow>(hasKept(name), [])
        if (kept?.found !== false) return 'kept'
        await run(deletePoints(tables), ends(partition))
        await run(detachPartition(tables, name), [])
        await run(dropPartition(name), [])
        return 'dropped'
      }),

    async deleteBatch({ name }, batchSize) {
      const [row] = await database.run<SweptRow>(sweep({ ...tables, keys: name }), [SWEEP_MARGIN_MS, batchSize])
      return row?.deleted ?? 0
    },

    raiseWatermark,
  }
}

/** The ends of what can be dropped: the default partition, which has none, cannot. */
function ends({ from, to }: Partition): [string, string] {
  if (to === null) throw new Error('a partition without an upper end is never dropped')
  return [from ?? SMALLEST, to]
}

/** The name of a partition beside the default one, in the same schema. */
function besides(rest: string, label: string): string {
  const schema = /^("(?:[^"]|"")+"|[^".]+)\./.exec(rest)?.[1]
  if (schema === undefined || !/^\d{8}_\d{4}$/.test(label)) throw new Error('a partition cannot be named')
  return `${schema}."idempotency_keys_${label}"`
}
