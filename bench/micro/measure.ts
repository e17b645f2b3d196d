import process from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Spread, spread } from '../measure/ratio.js'

export interface Cost {
  /** Of one call. */
  microseconds: Spread
  /** Allocated by one call, in bytes. */
  bytes: number
}

/** So few that nothing is collected before they are done: then what they allocated is what the heap grew. */
const CALLS_WITHOUT_COLLECTION = 1000

/** Measures calls that need no database, by turns, each one after the other. The first round warms up and does not count. */
export async function measure<Name extends string>(
  calls: Record<Name, () => unknown>,
  { rounds, each }: { rounds: number; each: number },
): Promise<Record<Name, Cost>> {
  const lanes = Object.entries<() => unknown>(calls).map(([name, call]) => ({ name, call, took: [] as number[] }))
  for (let round = 0; round <= rounds; round += 1) {
    for (const { call, took } of round % 2 === 0 ? lanes : lanes.toReversed()) {
      const start = performance.now()
      for (let at = 0; at < each; at += 1) await call()
      if (round > 0) took.push((1000 * (performance.now() - start)) / each)
    }
  }
  const costs: Partial<Record<string, Cost>> = {}
  for (const { name, call, took } of lanes) costs[name] = { microseconds: spread(took), bytes: await allocated(call) }
  return costs as Record<Name, Cost>
}

async function allocated(call: () => unknown): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const before = process.memoryUsage().heapUsed
  for (let at = 0; at < CALLS_WITHOUT_COLLECTION; at += 1) await call()
  return Math.max(0, Math.round((process.memoryUsage().heapUsed - before) / CALLS_WITHOUT_COLLECTION))
}
