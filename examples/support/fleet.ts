import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { Run } from './runExample.js'

export interface FleetSettings {
  /** How many servers there are at a time. */
  size: number
  /** The program of a server: it sends its address to whoever forked it, and ends with its channel. */
  program: string
  execArgv?: string[]
  /** What the n-th server that is started, counted from 1, is given. */
  args(nth: number): string[]
}

/** A place in the fleet. A server that is killed is replaced in its place. */
export interface Slot {
  /** The address of the last server that listened here. It may be dead: a load balancer, too, notices that late. */
  url: string
  /** The server that listens here, unless it was killed and its successor does not listen yet. */
  server: ChildProcess | undefined
}

export interface Fleet {
  slots: readonly Slot[]
  /**
   * Kills the server of a place by SIGKILL, and starts another.
   *
   * @returns false where it is dead already
   */
  kill(slot: Slot): boolean
  /** How many servers were killed. */
  kills(): number
  /** Waits until a server listens in each place. */
  complete(): Promise<void>
  /** Waits for `work`, or throws as soon as a server ends that was not killed. */
  during<T>(work: Promise<T>): Promise<T>
}

/** Starts servers, each a process of its own. */
export async function startFleet(settings: FleetSettings, { signal, onEnd }: Run): Promise<Fleet> {
  const alive = new Set<ChildProcess>()
  const starting = new Set<Promise<unknown>>()
  let started = 0
  let kills = 0
  let stopped = false
  let fail: (error: unknown) => void
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  // Whoever asks `during` hears of it; when nobody asks any more, it does not matter.
  failed.catch(() => undefined)

  const start = async (): Promise<Slot & { server: ChildProcess }> => {
    started += 1
    const server = fork(settings.program, settings.args(started), {
      execArgv: settings.execArgv ?? [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A group of its own: Ctrl-C reaches the whole foreground group, and we say when a server ends.
      detached: true,
    })
    alive.add(server)
    server.once('error', (error) => {
      alive.delete(server)
      fail(error)
    })
    server.once('exit', (code, by) => {
      alive.delete(server)
      if (!server.killed) fail(new Error(`A server of the shop ended by itself, with exit code ${code ?? by}.`))
    })
    const [url] = (await Promise.race([once(server, 'message'), failed])) as [string]
    return { server, url }
  }

  onEnd(async () => {
    stopped = true
    await Promise.all([...alive].map(killed))
  })
  const slots: Slot[] = await Promise.all(Array.from({ length: settings.size }, start))
  signal.throwIfAborted()

  const replaceIn = async (slot: Slot): Promise<void> => {
    // Until the new one listens, the dead one's address stays where it was.
    Object.assign(slot, await start())
  }

  return {
    slots,
    kill(slot) {
      const { server } = slot
      if (stopped || server === undefined) return false
      kills += 1
      server.kill('SIGKILL')
      slot.server = undefined
      const replacement = replaceIn(slot).catch(fail)
      starting.add(replacement)
      void replacement.then(() => starting.delete(replacement))
      return true
    },
    kills: () => kills,
    async complete() {
      await Promise.all(starting)
    },
    during: (work) => Promise.race([work, failed]),
  }
}

async function killed(server: ChildProcess): Promise<void> {
  const exited = once(server, 'exit')
  server.kill('SIGKILL')
  await exited
}
