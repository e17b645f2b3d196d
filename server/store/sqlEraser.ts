import type { Eraser } from './keyStore.js'
import { countLive, type LiveRow } from './sql/countLive.js'
import { type ErasedRow, erase } from './sql/erase.js'
import { tablesIn } from './sql/tables.js'
import type { SqlDatabase } from './sqlDatabase.js'

/** Erases what is stored of a scope. */
export function sqlEraser(
  database: Pick<SqlDatabase<never>, 'run'>,
  { schema }: { schema: string | undefined },
): Eraser {
  const tables = tablesIn(schema)
  const statements = { erase: erase(tables), countLive: countLive(tables) }
  return {
    async eraseBatch(scope, { after, batchSize }) {
      const [row] = await database.run<ErasedRow>(statements.erase, [scope, after, batchSize])
      return row ?? { erased: 0, last: null }
    },
    async countLive(scope) {
      const [row] = await database.run<LiveRow>(statements.countLive, [scope])
      return row?.live ?? 0
    },
  }
}
