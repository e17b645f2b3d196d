import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Fleet, startFleet } from '../support/fleet.js'
import type { Run } from '../support/runExample.js'

/** With two, there is nearly always one that goes on where the other was killed. */
const SERVERS = 2

const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

export interface ServerSettings {
  databaseUrl: string
  providerUrl: string
}

export interface Servers extends Pick<Fleet, 'kills' | 'during'> {
  /** The address of the next server in turn. It may be dead: a load balancer, too, notices that late. */
  nextUrl(): string
  /**
   * Kills the server that has this process id, and starts another in its place.
   *
   * @returns false where it is dead already
   */
  kill(pid: number): boolean
}

/** Starts the servers of the shop, each a process of its own. */
export async function startServers(settings: ServerSettings, run: Run): Promise<Servers> {
  const program = path.join(import.meta.dirname, 'shopServer.ts')
  const args = () => [JSON.stringify(settings)]
  const fleet = await startFleet({ size: SERVERS, program, execArgv: ['--import', loader], args }, run)
  const { slots, kills, during } = fleet
  let turns = 0
  return {
    nextUrl() {
      turns += 1
      return (slots[turns % SERVERS] as (typeof slots)[number]).url
    },
    kill(pid) {
      const slot = slots.find(({ server }) => server?.pid === pid)
      return slot !== undefined && fleet.kill(slot)
    },
    kills,
    during,
  }
}
