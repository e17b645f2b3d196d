import { v7 } from 'uuid'
import { percentile } from '../measure/percentile.js'
import { CALLERS } from './caller.js'
import type { RunningRow } from './startRow.js'

export interface Round {
  /** First calls a second. */
  first: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** Processor time of the server for a first call, in microseconds. */
  cpu: number
  /** Replays a second; NaN where there are none. */
  replays: number
}

/** A round, and what the bare transaction did right before it. */
export interface RoundBesideBare extends Round {
  bare: Round
}

export interface RoundPlan {
  warmUpMs: number
  firstMs: number
  /** 0 where nothing is replayed. */
  replayMs: number
}

/** One turn of one row: fresh keys for a while, and then the same ones again. */
export async function round(row: RunningRow, { warmUpMs, firstMs, replayMs }: RoundPlan): Promise<Round> {
  const ids = new Map<string, number>()
  const first = async () => {
    const { key, id } = await firstCall(row)
    ids.set(key, id)
  }
  // Its connections to the database may have been closed while others had their turn.
  await callFor(warmUpMs, first)
  const cpu = await row.cpu()
  const firsts = await callFor(firstMs, first)
  const used = (await row.cpu()) - cpu
  const keys = [...ids.keys()]
  let next = 0
  const replay = async () => {
    const key = keys[next % keys.length] ?? ''
    next += 1
    // As the link sends it again: it says that it is not the first.
    const id = await row.call({ key, attempt: 2 })
    if (id !== ids.get(key)) throw new Error('a replay gave another answer than the first call')
  }
  const replays = replayMs === 0 ? undefined : await callFor(replayMs, replay)
  return {
    first: firsts.perSecond,
    p50: percentile(firsts.took, 0.5),
    p99: percentile(firsts.took, 0.99),
    cpu: used / firsts.took.length,
    replays: replays?.perSecond ?? Number.NaN,
  }
}

/** One call with a key of its own. */
export async function firstCall(row: RunningRow): Promise<{ key: string; id: number }> {
  const key = v7()
  const id = await row.call({ key, attempt: 1 })
  if (id === null) throw new Error('a first call was refused')
  return { key, id }
}

/** Has all callers call for a while; gives the time that each call took. */
export async function callFor(ms: number, call: () => Promise<void>): Promise<{ perSecond: number; took: number[] }> {
  const took: number[] = []
  const start = performance.now()
  const caller = async () => {
    for (let sent = performance.now(); sent - start < ms; sent = performance.now()) {
      await call()
      took.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return { perSecond: (1000 * took.length) / (performance.now() - start), took }
}
