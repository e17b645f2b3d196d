import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

/** Whether Prisma's own install script has brought the schema engine as a native program. */
export function nativeSchemaEngineIsInstalled(): boolean {
  const fromHere = createRequire(import.meta.url)
  const fromPrisma = createRequire(fromHere.resolve('prisma/package.json'))
  const engines = path.dirname(fromPrisma.resolve('@prisma/engines/package.json'))
  return readdirSync(engines).some((file) => file.startsWith('schema-engine-'))
}
