import { type Round, type RoundBesideBare, type RoundPlan, round } from './round.js'
import { ROWS, type RowName } from './rows.js'
import type { RunningRow } from './startRow.js'

/** The rounds of each row. */
export type Rounds = Partial<Record<RowName, RoundBesideBare[]>>

/**
 * Rounds of all rows by turns, each time beginning with another one; right before each, one of the bare transaction: what
 * the machine does meanwhile hits both. The first round warms up and does not count.
 */
export async function alternate(
  rows: ReadonlyMap<RowName, RunningRow>,
  { rounds, ...plan }: RoundPlan & { rounds: number },
): Promise<Rounds> {
  const measured: Rounds = { bareTransaction: [] }
  const turn = async (name: RowName): Promise<Round> => {
    const row = rows.get(name)
    if (row === undefined) throw new Error(`the row ${name} is not running`)
    return round(row, { ...plan, replayMs: ROWS[name].keyIn === 'none' ? 0 : plan.replayMs })
  }
  const names = [...rows.keys()].filter((name) => name !== 'bareTransaction')
  for (let at = 0; at <= rounds; at += 1) {
    const from = at % names.length
    for (const name of [...names.slice(from), ...names.slice(0, from)]) {
      const bare = await turn('bareTransaction')
      const own = await turn(name)
      if (at === 0) continue
      measured.bareTransaction?.push({ ...bare, bare })
      measured[name] ??= []
      measured[name].push({ ...own, bare })
    }
  }
  return measured
}
