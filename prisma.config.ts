import path from 'node:path'
import process from 'node:process'
import { defineConfig } from 'prisma/config'
import { nativeSchemaEngineIsInstalled } from './prisma/dev/nativeSchemaEngine.js'

// Prisma downloads its schema engine from a host of its own in an install script. This repository runs no install
// scripts, so the CLI is given the same engine as WebAssembly from npm. Not on Windows: it cannot spawn a script.
if (process.platform !== 'win32' && !nativeSchemaEngineIsInstalled()) {
  process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ||= path.join(import.meta.dirname, 'prisma/dev/schemaEngine.mjs')
}

export default defineConfig({
  schema: 'prisma/schema',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env['DATABASE_URL'] ?? '' },
})
