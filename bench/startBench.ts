import pg from 'pg'
import { startEmbeddedPostgres } from '../prisma/dev/embeddedPostgres.js'
import { prisma } from '../prisma/dev/prismaCli.js'
import type { Bench } from './section.js'

export interface RunningBench extends Bench {
  /** What Postgres says of itself. */
  postgresVersion: string
  stop(): Promise<void>
}

const SETTINGS = {
  fsync: 'on',
  // The defaults write WAL through checkpoints that come at any time, and the pages that follow a checkpoint are written
  // whole: which row of a table that hits would be chance.
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
}

/** Starts the Postgres that all sections measure on. */
export async function startBench({ quick }: { quick: boolean }): Promise<RunningBench> {
  const postgres = await startEmbeddedPostgres(SETTINGS)
  try {
    await prisma(['migrate', 'deploy'], postgres.url('migrated'))
    const admin = new pg.Client({ connectionString: postgres.url('postgres') })
    await admin.connect()
    const create = async (name: string, template: string) => {
      await admin.query(`create database ${admin.escapeIdentifier(name)} template ${template}`)
      return postgres.url(name)
    }
    const { rows } = await admin.query<{ version: string }>(`select current_setting('server_version') as version`)
    return {
      quick,
      database: (name) => create(name, 'migrated'),
      emptyDatabase: (name) => create(name, 'template1'),
      postgresVersion: rows[0]?.version ?? '',
      async stop() {
        await admin.end()
        await postgres.stop()
      },
    }
  } catch (error) {
    await postgres.stop()
    throw error
  }
}
