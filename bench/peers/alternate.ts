import { type RoundBesideBare, type RoundPlan, round } from './round.js'
import { ROWS, type RowName } from './rows.js'
import type { Given } from './shop.js'
import { type RunningRow, startRow } from './startRow.js'

/** The rounds of each row. */
export type Rounds = Partial<Record<RowName, RoundBesideBare[]>>

export interface Plan extends RoundPlan {
  rounds: number
  /** Rounds before those that count: until they are over, the server is still being compiled. */
  warmUpRounds: number
}

/**
 * Each row by turns with the bare transaction, and only these two servers: one that stood idle while many others had their
 * turn would pay for that, by pages and caches that it lost.
 */
export async function alternate(given: ReadonlyMap<RowName, Given>, plan: Plan): Promise<Rounds> {
  const bareGiven = given.get('bareTransaction')
  if (bareGiven === undefined) throw new Error('nothing to compare with')
  const bareRow = await startRow({ name: 'bareTransaction', ...bareGiven })
  const measured: Rounds = { bareTransaction: [] }
  try {
    for (const [name, own] of given) {
      if (name === 'bareTransaction') continue
      const row = await startRow({ name, ...own })
      try {
        measured[name] = await besideBare({ row, bareRow, keyIn: ROWS[name].keyIn }, plan)
      } finally {
        await row.stop()
      }
      measured.bareTransaction?.push(...measured[name].map(({ bare }) => ({ ...bare, bare })))
    }
  } finally {
    await bareRow.stop()
  }
  return measured
}

interface Pair {
  row: RunningRow
  bareRow: RunningRow
  keyIn: (typeof ROWS)[RowName]['keyIn']
}

async function besideBare({ row, bareRow, keyIn }: Pair, plan: Plan): Promise<RoundBesideBare[]> {
  const own = () => round(row, { ...plan, replayMs: keyIn === 'none' ? 0 : plan.replayMs })
  const bare = () => round(bareRow, { ...plan, replayMs: 0 })
  const rounds: RoundBesideBare[] = []
  for (let at = 0; at < plan.warmUpRounds + plan.rounds; at += 1) {
    // None is always the second.
    const before = at % 2 === 0 ? await bare() : undefined
    const measured = await own()
    const beside = before ?? (await bare())
    if (at >= plan.warmUpRounds) rounds.push({ ...measured, bare: beside })
  }
  return rounds
}
