import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../prisma/dev/embeddedPostgres.js'
import { prisma } from '../../prisma/dev/prismaCli.js'
import { ensureGeneratedClient } from './generatedClient.js'
import type { Run } from './runExample.js'

/**
 * Starts a Postgres for one run of an example and migrates a database in it.
 *
 * @returns the connection string of the database
 */
export async function startExampleDatabase({ signal, onEnd }: Run): Promise<string> {
  await ensureGeneratedClient()
  signal.throwIfAborted()
  const postgres: EmbeddedPostgres = await startEmbeddedPostgres()
  onEnd(() => postgres.stop())
  signal.throwIfAborted()
  const url = postgres.url('shop')
  await prisma(['migrate', 'deploy'], url)
  signal.throwIfAborted()
  return url
}
