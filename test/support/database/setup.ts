import { randomBytes } from 'node:crypto'
import process from 'node:process'
import type { TestProject } from 'vitest/node'
import { migrate } from './migrate.js'
import { partitionFinely } from './partition.js'
import { runSql } from './runSql.js'
import { startDatabaseSource } from './source.js'

declare module 'vitest' {
  interface ProvidedContext {
    database: { maintenanceUrl: string; templateUrl: string; url: string; description: string }
    /** The database that `npm run test:store` was given, and the schema of its tables. Then there is no other one. */
    store: { url: string; schema: string } | null
  }
}

/** Migrates one template database for the whole run; each test file copies it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { TEST_STORE_URL: storeUrl, TEST_STORE_SCHEMA: schema = 'public' } = process.env
  project.provide('store', storeUrl === undefined ? null : { url: storeUrl, schema })
  if (storeUrl !== undefined) return async () => undefined
  const source = await startDatabaseSource()
  const maintenanceUrl = source.directUrl('postgres')
  const partitioned = process.env['TEST_PARTITIONED'] === '1'
  const [server] = await runSql<{ server_version: string }>(maintenanceUrl, 'show server_version')
  console.log(
    `Postgres for this run: ${server?.server_version}, ${source.description}${partitioned ? ', partitioned' : ''}`,
  )
  const template = `idempotency_template_${randomBytes(4).toString('hex')}`
  const templateUrl = source.directUrl(template)
  await migrate(maintenanceUrl, templateUrl)
  if (partitioned) await partitionFinely(templateUrl)
  await runSql(templateUrl, 'create table test_runs (id serial primary key, label text not null)')
  project.provide('database', { maintenanceUrl, templateUrl, url: source.url('*'), description: source.description })
  return async () => {
    await runSql(maintenanceUrl, `drop database if exists "${template}" with (force)`)
    await source.stop()
  }
}
