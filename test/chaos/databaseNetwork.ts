import { setTimeout as pause } from 'node:timers/promises'
import type { Run } from '../../examples/support/runExample.js'
import { type Flight, type Hook, startDatabaseRelay } from '../support/databaseRelay.js'
import type { FaultSwitch } from './faultSwitch.js'
import type { Tally } from './tally.js'
import { type TripFate, tripFate } from './tripFate.js'

export interface DatabaseNetwork {
  /** The connection string of the database, led through it. */
  url: string
  /** Lets nothing through for a while. What the database gets at first is done, but no answer comes back. */
  partition(ms: number): Promise<void>
}

/** Long enough for some statements to arrive whose answers are lost: for a COMMIT above all. */
const ONE_WAY_MS = 60

/**
 * Puts a bad network between the servers and their database: it cuts, delays and truncates. It does not duplicate: that
 * happens to packets, and TCP takes them out again.
 */
export async function startDatabaseNetwork(
  databaseUrl: string,
  { seed, tally, faults }: { seed: number; tally: Tally; faults: FaultSwitch },
  { onEnd }: Run,
): Promise<DatabaseNetwork> {
  const seen = new Map<string, number>()
  const nth = (kind: string) => {
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
    return seen.get(kind) ?? 0
  }
  const fates = new WeakMap<Flight, TripFate>()

  let partition: 'no' | 'one way' | 'both ways' = 'no'

  const hook: Hook = async (flight, moment) => {
    if (partition === 'both ways' || (partition === 'one way' && moment === 'after')) return 'cut'
    if (!faults.areOn()) return 'pass'
    const known = fates.get(flight)
    if (moment === 'before') {
      // A trip whose statements arrive in several pieces has one fate.
      if (known !== undefined) return 'pass'
      const fate = tripFate(seed, flight, nth)
      fates.set(flight, fate)
      if (fate.kind !== 'pass') tally.count(`round trip ${fate.kind}`)
      if (fate.kind === 'delay') await pause(fate.ms)
      return fate.kind === 'cut before' ? 'cut' : 'pass'
    }
    if (known?.kind === 'cut after') return 'cut'
    return known?.kind === 'truncate' ? 'truncate' : 'pass'
  }
  const relay = await startDatabaseRelay(databaseUrl, { hook })
  onEnd(relay.close)
  return {
    url: relay.url,
    async partition(ms) {
      partition = 'one way'
      await pause(Math.min(ms, ONE_WAY_MS))
      partition = 'both ways'
      await pause(Math.max(0, ms - ONE_WAY_MS))
      partition = 'no'
    },
  }
}
