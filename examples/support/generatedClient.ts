import { existsSync, readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { prisma } from '../../prisma/dev/prismaCli.js'

const repository = path.resolve(import.meta.dirname, '../..')
const generated = path.join(repository, 'generated/prisma')
const schemas = path.join(repository, 'prisma/schema')

/**
 * Makes sure that the generated Prisma client is there and up to date. Only code that is imported dynamically, after
 * this, may import it: on a fresh clone it does not exist when the program starts.
 */
export async function ensureGeneratedClient(): Promise<void> {
  // Generating takes the files away for a moment, from under whoever is just importing them. So only when it must be.
  if (isUpToDate()) return
  try {
    await prisma(['generate'])
  } catch (error) {
    // Half a client that is newer than its schema would pass for a whole one next time.
    rmSync(generated, { recursive: true, force: true })
    throw error
  }
}

function isUpToDate(): boolean {
  const client = path.join(generated, 'client.ts')
  if (!existsSync(client)) return false
  const sources = readdirSync(schemas).map((file) => path.join(schemas, file))
  sources.push(path.join(repository, 'node_modules/prisma/package.json'))
  const age = statSync(client).mtimeMs
  return sources.every((source) => statSync(source).mtimeMs < age)
}
