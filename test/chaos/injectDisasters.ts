import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Fleet, Slot } from '../../examples/support/fleet.js'
import type { History } from './history.js'
import type { PlannedDisaster } from './plan.js'
import { nameOf } from './servers.js'
import type { Tally } from './tally.js'

export interface Targets {
  fleet: Fleet
  /** Crashes Postgres; resolves when it is ready again. */
  crash(): Promise<void>
  /** Separates the servers from the database for so long, in ms. */
  partition(ms: number): Promise<void>
  history: History
  tally: Tally
  signal: AbortSignal
}

/** More connections than the pool of a server has. */
const STARVED_CONNECTIONS = 8

/** Lets everything happen that is planned. Resolves when the last of it is over and every stopped server goes on. */
export async function injectDisasters(plan: readonly PlannedDisaster[], targets: Targets): Promise<void> {
  const { fleet, history, tally, signal } = targets
  let crashed = Promise.resolve()
  await Promise.all(
    plan.map(async (planned) => {
      await pause(planned.atMs, undefined, { signal })
      await inject(planned)
    }),
  )

  async function inject(planned: PlannedDisaster): Promise<void> {
    if (planned.kind === 'crash') {
      // One after the other: what is recovering cannot be told to crash.
      crashed = crashed.then(() => note('Postgres crashed', 'Postgres', targets.crash))
      return crashed
    }
    if (planned.kind === 'partition')
      return note('network partition', 'the database', () => targets.partition(planned.forMs))
    const slot = await listening(planned.server)
    const name = nameOf(fleet, slot)
    switch (planned.kind) {
      case 'kill':
        return note('server killed', name, async () => void fleet.kill(slot))
      case 'stop':
        return note('server stopped', name, () => stop(slot, planned.forMs))
      case 'starve':
        return note('pool starved', name, () => starve(slot, planned.forMs))
    }
  }

  async function note(kind: string, target: string, work: () => Promise<void>): Promise<void> {
    tally.count(kind)
    const text = `${kind}: ${target}`
    const disaster = { kind: 'disaster' as const, text, startMs: Date.now(), endMs: Number.POSITIVE_INFINITY }
    history.disasters.push(disaster)
    await work()
    disaster.endMs = Date.now()
  }

  /** The slot that is planned, or the next one, if that one is empty just now. */
  async function listening(planned: number): Promise<Slot> {
    for (;;) {
      const inTurn = [...fleet.slots.slice(planned), ...fleet.slots.slice(0, planned)]
      const slot = inTurn.find(({ server }) => server !== undefined)
      if (slot !== undefined) return slot
      await pause(10, undefined, { signal })
    }
  }
}

async function stop({ server }: Slot, forMs: number): Promise<void> {
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

async function starve({ url }: Slot, ms: number): Promise<void> {
  const body = JSON.stringify({ connections: STARVED_CONNECTIONS, ms })
  const headers = { 'content-type': 'application/json', 'x-customer': 'traffic' }
  // The server may be killed meanwhile, or its database crashed.
  await fetch(`${url}/traffic`, { method: 'POST', headers, body }).catch(() => undefined)
}
