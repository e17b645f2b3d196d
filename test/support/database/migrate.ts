import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import process from 'node:process'
import { prisma } from '../../../prisma/dev/prismaCli.js'
import { runSql } from './runSql.js'

const MIGRATIONS = path.resolve(import.meta.dirname, '../../../prisma/migrations')

/** Creates and migrates a database of a server, by Prisma's CLI; where `TEST_MIGRATE_BY` is `sql`, without it. */
export async function migrate(maintenanceUrl: string, url: string): Promise<void> {
  if (process.env['TEST_MIGRATE_BY'] === 'sql') return migrateBySql(maintenanceUrl, url)
  await prisma(['migrate', 'deploy'], url)
}

/** The CLI of Prisma 6 migrates with nothing but the native engine that it downloads. The migrations are plain SQL. */
async function migrateBySql(maintenanceUrl: string, url: string): Promise<void> {
  await runSql(maintenanceUrl, `create database "${new URL(url).pathname.slice(1)}"`)
  const folders = (await readdir(MIGRATIONS, { withFileTypes: true })).filter((entry) => entry.isDirectory())
  for (const name of folders.map((entry) => entry.name).sort()) {
    await runSql(url, await readFile(path.join(MIGRATIONS, name, 'migration.sql'), 'utf8'))
  }
}
