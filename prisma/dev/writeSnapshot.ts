import { writeFile } from 'node:fs/promises'
import { startEmbeddedPostgres } from './embeddedPostgres.js'
import { prisma } from './prismaCli.js'
import { SNAPSHOT_FILE, schemaSnapshot } from './schemaSnapshot.js'

const server = await startEmbeddedPostgres()
try {
  const url = server.url('snapshot')
  await prisma(['migrate', 'deploy'], url) // it creates the database, too
  await writeFile(SNAPSHOT_FILE, await schemaSnapshot(url))
} finally {
  await server.stop()
}
