import { setTimeout as pause } from 'node:timers/promises'
import type { Berth, Fleet } from '../../examples/support/fleet.js'
import type { History } from './history.js'
import type { PlannedDisaster } from './plan.js'
import type { Tally } from './tally.js'

export interface Victims {
  fleet: Fleet
  /** Crashes Postgres; resolves when it is ready again. */
  crash(): Promise<void>
  history: History
  tally: Tally
  signal: AbortSignal
}

/** More connections than the pool of a server has. */
const STARVED_CONNECTIONS = 8

/** Lets everything happen that is planned. Resolves when the last of it is over and every stopped server goes on. */
export async function strike(plan: readonly PlannedDisaster[], victims: Victims): Promise<void> {
  const { fleet, history, tally, signal } = victims
  const startedMs = Date.now()
  const underWay: Promise<void>[] = []
  for (const planned of plan) {
    await pause(Math.max(0, startedMs + planned.atMs - Date.now()), undefined, { signal })
    underWay.push(happen(planned))
  }
  await Promise.all(underWay)

  async function happen(planned: PlannedDisaster): Promise<void> {
    if (planned.kind === 'crash') {
      tally.count('Postgres crashed')
      await during('Postgres is crashed and recovers', victims.crash)
      return
    }
    const berth = await listening(planned.server)
    const name = nameOf(fleet, berth)
    switch (planned.kind) {
      case 'kill':
        tally.count('server killed')
        await during(`${name} is killed`, async () => {
          fleet.kill(berth)
        })
        return
      case 'stop':
        tally.count('server stopped')
        await during(`${name} is stopped`, () => stop(berth, planned.forMs))
        return
      case 'starve':
        tally.count('pool starved')
        await during(`the pool of ${name} is starved`, () => starve(berth, planned.forMs))
    }
  }

  async function during(text: string, work: () => Promise<void>): Promise<void> {
    const disaster = { kind: 'disaster' as const, text, startMs: Date.now(), endMs: Number.POSITIVE_INFINITY }
    history.disasters.push(disaster)
    await work()
    disaster.endMs = Date.now()
  }

  /** The server in a place, or in the next one, whichever is not dead just now. */
  async function listening(place: number): Promise<Berth> {
    for (;;) {
      const turned = [...fleet.berths.slice(place), ...fleet.berths.slice(0, place)]
      const berth = turned.find(({ server }) => server !== undefined)
      if (berth !== undefined) return berth
      await pause(10, undefined, { signal })
    }
  }
}

/** A name for whatever listens in a place now. */
export function nameOf({ berths }: Pick<Fleet, 'berths'>, berth: Berth): string {
  return `server ${berths.indexOf(berth) + 1} (process ${berth.server?.pid ?? 'dead'})`
}

async function stop({ server }: Berth, forMs: number): Promise<void> {
  const pid = server?.pid
  if (server === undefined || pid === undefined) return
  // Not by server.kill: that would mark it as one that we have killed.
  const send = (signal: 'SIGSTOP' | 'SIGCONT') => {
    if (server.exitCode === null && server.signalCode === null) process.kill(pid, signal)
  }
  send('SIGSTOP')
  await pause(forMs)
  send('SIGCONT')
}

async function starve({ url }: Berth, ms: number): Promise<void> {
  const body = JSON.stringify({ connections: STARVED_CONNECTIONS, ms })
  const headers = { 'content-type': 'application/json', 'x-customer': 'traffic' }
  // It may be killed meanwhile, or its database crashed.
  await fetch(`${url}/traffic`, { method: 'POST', headers, body }).catch(() => undefined)
}
