import { execFile } from 'node:child_process'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, onTestFinished } from 'vitest'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../prisma/dev/embeddedPostgres.js'
import { migrate } from '../database/migrate.js'
import { runSql } from '../database/runSql.js'
import { type Lead, startLead } from './lead.js'

/** Two servers by streaming replication, and the address by which applications know whichever is the primary. */
export interface ReplicatedPostgres {
  /** The connection string of applications. */
  url: string
  /** What the application's connections and the standby's are led through. */
  lead: Lead
  replication: Lead
  primary: EmbeddedPostgres
  /** Statements past everything, on one of the two. */
  onPrimary<Row = Record<string, unknown>>(sql: string): Promise<Row[]>
  onStandby<Row = Record<string, unknown>>(sql: string): Promise<Row[]>
  /** Resolves when the standby has applied everything that the primary wrote. */
  caughtUp(): Promise<void>
  /** SIGKILL for every process of the primary, in the middle of whatever it does. */
  killPrimary(): Promise<void>
  /** Makes the standby a primary, and then leads applications to it. */
  promote(): Promise<void>
}

const DATABASE = 'shop'

/** Starts both, with the tables of the application; they end with the test. */
export async function startReplicatedPostgres({ synchronous }: { synchronous: boolean }): Promise<ReplicatedPostgres> {
  const settings: Record<string, string> = { wal_level: 'replica', wal_keep_size: '512MB' }
  if (synchronous) settings['synchronous_standby_names'] = 'standby'
  const primary = await startEmbeddedPostgres(settings, { keepsSeed: true })
  onTestFinished(() => primary.stop())
  const replication = await startLead(primary.port)
  const standby = await startEmbeddedPostgres(
    {
      primary_conninfo: `host=127.0.0.1 port=${replication.port} user=postgres application_name=standby`,
      // A stalled receiver looks for its primary every five seconds, else.
      wal_retrieve_retry_interval: '100ms',
    },
    { seed: primary.seed },
  )
  onTestFinished(() => standby.stop())
  await migrate(primary.url('postgres'), primary.url(DATABASE))
  await runSql(primary.url(DATABASE), 'create table test_runs (id serial primary key, label text not null)')

  const lead = await startLead(primary.port)
  const url = new URL(primary.url(DATABASE))
  url.port = String(lead.port)
  const on = (server: EmbeddedPostgres) => (sql: string) => runSql<never>(server.url(DATABASE), sql)
  return {
    url: url.href,
    lead,
    replication,
    primary,
    onPrimary: on(primary),
    onStandby: on(standby),
    async caughtUp() {
      const [wrote] = await runSql<{ at: string }>(
        primary.url('postgres'),
        'select pg_current_wal_flush_lsn()::text as at',
      )
      await expect
        .poll(() => runSql(standby.url('postgres'), `select pg_last_wal_replay_lsn() >= '${wrote?.at}' as caught_up`))
        .toEqual([{ caught_up: true }])
    },
    killPrimary: () => killServer(primary.pid()),
    async promote() {
      // No way back to the old primary: it may be alive, for all that anybody here can know.
      lead.cut()
      await runSql(standby.url('postgres'), 'select pg_promote()')
      lead.to(standby.port)
    },
  }
}

/** Its sessions outlive a killed Postgres for a moment, in which they could commit: they go with it. */
async function killServer(pid: number): Promise<void> {
  // Stopped first: nobody is born while the children are counted.
  process.kill(pid, 'SIGSTOP')
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid='])
  const children = stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, parent]) => parent === pid)
  for (const [child] of [...children, [pid]]) {
    try {
      if (child !== undefined) process.kill(child, 'SIGKILL')
    } catch {
      // it ended by itself
    }
  }
}
