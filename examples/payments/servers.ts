import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Run } from '../support/runExample.js'

/** With two, there is nearly always one that goes on where the other was killed. */
const SERVERS = 2

const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href

export interface ServerSettings {
  databaseUrl: string
  providerUrl: string
}

export interface Servers {
  /** The address of the next server in turn. It may be dead: a load balancer, too, notices that late. */
  nextUrl(): string
  /**
   * Kills the server that has this process id, and starts another in its place.
   *
   * @returns false where it is dead already
   */
  kill(pid: number): boolean
  /** How many servers were killed. */
  kills(): number
  /** Waits for `work`, or throws as soon as a server ends that was not killed. */
  during<T>(work: Promise<T>): Promise<T>
}

interface Serving {
  child: ChildProcess
  url: string
}

/** Starts the servers of the shop, each a process of its own. */
export async function startServers(settings: ServerSettings, { signal, onEnd }: Run): Promise<Servers> {
  const alive = new Set<ChildProcess>()
  let kills = 0
  let turns = 0
  let stopped = false
  let fail: (error: unknown) => void
  const failed = new Promise<never>((_, reject) => {
    fail = reject
  })
  // Whoever asks `during` hears of it; when nobody asks any more, it does not matter.
  failed.catch(() => undefined)

  const start = async (): Promise<Serving> => {
    const child = fork(path.join(import.meta.dirname, 'shopServer.ts'), [JSON.stringify(settings)], {
      execArgv: ['--import', loader],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // A group of its own: Ctrl-C reaches the whole foreground group, and we say when a server ends.
      detached: true,
    })
    alive.add(child)
    child.once('error', (error) => {
      alive.delete(child)
      fail(error)
    })
    child.once('exit', (code) => {
      alive.delete(child)
      if (!child.killed) fail(new Error(`A server of the shop ended by itself, with exit code ${code}.`))
    })
    const [url] = (await Promise.race([once(child, 'message'), failed])) as [string]
    return { child, url }
  }

  onEnd(async () => {
    stopped = true
    await Promise.all([...alive].map(killed))
  })
  const servers = await Promise.all(Array.from({ length: SERVERS }, start))
  signal.throwIfAborted()

  const replace = async (dead: Serving): Promise<void> => {
    // Until the new one listens, the dead one's address stays where it was.
    const next = await start()
    servers[servers.indexOf(dead)] = next
  }

  return {
    nextUrl() {
      turns += 1
      return (servers[turns % SERVERS] as Serving).url
    },
    kill(pid) {
      const serving = servers.find(({ child }) => child.pid === pid)
      if (stopped || serving === undefined || serving.child.killed) return false
      kills += 1
      serving.child.kill('SIGKILL')
      replace(serving).catch(fail)
      return true
    },
    kills: () => kills,
    during: (work) => Promise.race([work, failed]),
  }
}

async function killed(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
