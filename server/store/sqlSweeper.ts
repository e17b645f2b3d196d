import type { Sweeper } from './keyStore.js'
import { createWatermark } from './sql/createWatermark.js'
import { raiseWatermark, type WatermarkRow } from './sql/raiseWatermark.js'
import { type SweptRow, sweep } from './sql/sweep.js'
import { tablesIn } from './sql/tables.js'
import type { SqlDatabase } from './sqlDatabase.js'
import type { SqlStoreSettings } from './sqlStore.js'

/**
 * How long a watermark stands before anything below it is deleted, in milliseconds: longer than a transaction with
 * Prisma's timeout may take, so that whoever claimed below it is gone. The settle asks again all the same.
 */
export const SWEEP_MARGIN_MS = 60_000

/** Forgets what is older than the retention. */
export function sqlSweeper(
  database: Pick<SqlDatabase<never>, 'run'>,
  settings: Pick<SqlStoreSettings, 'schema' | 'retentionMs'>,
): Sweeper {
  const tables = tablesIn(settings.schema)
  const statements = {
    sweep: sweep(tables),
    createWatermark: createWatermark(tables),
    raiseWatermark: raiseWatermark(tables),
  }
  return {
    async deleteBatch(batchSize) {
      const [row] = await database.run<SweptRow>(statements.sweep, [SWEEP_MARGIN_MS, batchSize])
      return row?.deleted ?? 0
    },
    async raiseWatermark() {
      const created = await database.run(statements.createWatermark, [])
      if (created.length > 0) return false
      const margin = BigInt(SWEEP_MARGIN_MS)
      const rows = await database.run<WatermarkRow>(statements.raiseWatermark, [margin, BigInt(settings.retentionMs)])
      return rows.length > 0
    },
  }
}
