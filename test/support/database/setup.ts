import { randomBytes } from 'node:crypto'
import type { TestProject } from 'vitest/node'
import { migrate } from './migrate.js'
import { runSql } from './runSql.js'
import { startDatabaseSource } from './source.js'

declare module 'vitest' {
  interface ProvidedContext {
    database: { maintenanceUrl: string; templateUrl: string; url: string; description: string }
  }
}

/** Migrates one template database for the whole run; each test file copies it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const source = await startDatabaseSource()
  const maintenanceUrl = source.directUrl('postgres')
  const [server] = await runSql<{ server_version: string }>(maintenanceUrl, 'show server_version')
  console.log(`Postgres for this run: ${server?.server_version}, ${source.description}`)
  const template = `idempotency_template_${randomBytes(4).toString('hex')}`
  const templateUrl = source.directUrl(template)
  await migrate(maintenanceUrl, templateUrl)
  await runSql(templateUrl, 'create table test_runs (id serial primary key, label text not null)')
  project.provide('database', { maintenanceUrl, templateUrl, url: source.url('*'), description: source.description })
  return async () => {
    await runSql(maintenanceUrl, `drop database if exists "${template}" with (force)`)
    await source.stop()
  }
}
