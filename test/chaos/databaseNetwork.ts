import { setTimeout as pause } from 'node:timers/promises'
import type { Run } from '../../examples/support/runExample.js'
import { type Flight, type Hook, startDatabaseRelay } from '../support/databaseRelay.js'
import type { FaultSwitch } from './faultSwitch.js'
import type { Tally } from './tally.js'
import { type TripFate, tripFate } from './tripFate.js'

/**
 * Puts a bad network between the servers and their database: it cuts, delays and truncates. It does not duplicate: that
 * happens to packets, and TCP takes them out again.
 *
 * @returns the connection string of the database, led through it
 */
export async function startDatabaseNetwork(
  databaseUrl: string,
  { seed, tally, faults }: { seed: number; tally: Tally; faults: FaultSwitch },
  { onEnd }: Run,
): Promise<string> {
  const seen = new Map<string, number>()
  const nth = (kind: string) => {
    seen.set(kind, (seen.get(kind) ?? 0) + 1)
    return seen.get(kind) ?? 0
  }
  const fates = new WeakMap<Flight, TripFate>()

  const hook: Hook = async (flight, moment) => {
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
  return relay.url
}
