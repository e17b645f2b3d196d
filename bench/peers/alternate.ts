import { type Round, type RoundPlan, round } from './round.js'
import { ROWS, type RowName } from './rows.js'
import type { RunningRow } from './startRow.js'

/** The rounds of each row. */
export type Rounds = Partial<Record<RowName, Round[]>>

/** Rounds of all rows by turns, each time beginning with another one. The first round warms up and does not count. */
export async function alternate(
  rows: ReadonlyMap<RowName, RunningRow>,
  { rounds, ...plan }: RoundPlan & { rounds: number },
): Promise<Rounds> {
  const measured: Rounds = {}
  const names = [...rows.keys()]
  for (let at = 0; at <= rounds; at += 1) {
    const from = at % names.length
    for (const name of [...names.slice(from), ...names.slice(0, from)]) {
      const row = rows.get(name)
      if (row === undefined) continue
      const replayMs = ROWS[name].keyIn === 'none' ? 0 : plan.replayMs
      const result = await round(row, { ...plan, replayMs })
      if (at === 0) continue
      measured[name] ??= []
      measured[name].push(result)
    }
  }
  return measured
}
