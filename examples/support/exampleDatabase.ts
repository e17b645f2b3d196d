import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../prisma/dev/embeddedPostgres.js'
import { prisma } from '../../prisma/dev/prismaCli.js'
import { ensureGeneratedClient } from './generatedClient.js'
import type { Run } from './runExample.js'

export interface ExamplePostgres extends Pick<EmbeddedPostgres, 'crash'> {
  /** The connection string of its migrated database. */
  databaseUrl: string
}

/**
 * Starts a Postgres for one run of an example and migrates a database in it.
 *
 * @returns the connection string of the database
 */
export async function startExampleDatabase(run: Run): Promise<string> {
  return (await startExamplePostgres(run)).databaseUrl
}

/** The same for who wants to crash it. */
export async function startExamplePostgres({ signal, onEnd }: Run): Promise<ExamplePostgres> {
  await ensureGeneratedClient()
  signal.throwIfAborted()
  const postgres: EmbeddedPostgres = await startEmbeddedPostgres()
  onEnd(() => postgres.stop())
  signal.throwIfAborted()
  const databaseUrl = postgres.url('shop')
  await prisma(['migrate', 'deploy'], databaseUrl)
  signal.throwIfAborted()
  return { databaseUrl, crash: postgres.crash }
}
