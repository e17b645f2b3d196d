import { type Fleet, type Slot, startFleet } from '../../examples/support/fleet.js'
import type { Run } from '../../examples/support/runExample.js'
import { bundleServer } from './bundleServer.js'
import { SERVERS } from './plan.js'
import type { ChaosServerSettings } from './server/settings.js'

/** Starts the servers, each a process of its own. */
export async function startServers(settings: Omit<ChaosServerSettings, 'nth'>, run: Run): Promise<Fleet> {
  const program = await bundleServer(run)
  const args = (nth: number) => [JSON.stringify({ ...settings, nth } satisfies ChaosServerSettings)]
  return startFleet({ size: SERVERS, program, args }, run)
}

/** Takes the servers in turn, the dead ones too: nobody tells the network. */
export function nextServer(fleet: Fleet): () => { url: string; name: string } {
  let turns = 0
  return () => {
    turns += 1
    const slot = fleet.slots[turns % SERVERS] as Slot
    return { url: slot.url, name: nameOf(fleet, slot) }
  }
}

/** A name for whatever listens in a slot now. */
export function nameOf({ slots }: Fleet, slot: Slot): string {
  return `server ${slots.indexOf(slot) + 1} (process ${slot.server?.pid ?? 'dead'})`
}
