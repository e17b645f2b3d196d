import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type PrismaRun, runPrisma } from '../../prisma/dev/prismaCli.js'
import { SNAPSHOT_FILE, schemaSnapshot } from '../../prisma/dev/schemaSnapshot.js'
import { type CreatedDatabase, createDatabase } from './createDatabase.js'

let migrated: CreatedDatabase
let deploy: PrismaRun

beforeAll(async () => {
  migrated = await createDatabase()
  deploy = await runPrisma(['migrate', 'deploy'], migrated.url)
})

afterAll(() => migrated.drop())

test('migrate deploy brings an empty database up to date', async () => {
  expect(deploy).toMatchObject({ exitCode: 0, output: expect.stringContaining('20261130000000_idempotency') })
  const status = await runPrisma(['migrate', 'status'], migrated.url)
  expect(status).toMatchObject({ exitCode: 0, output: expect.stringContaining('Database schema is up to date') })
})

test('the migrated database, the migrations and the schema do not drift apart', async () => {
  const [fromDatabase, fromMigrations] = await Promise.all([
    drift(migrated, ['--from-config-datasource']),
    drift(migrated, ['--from-migrations', 'prisma/migrations']),
  ])
  expect(fromDatabase).toMatchObject({ exitCode: 0, output: expect.stringContaining('No difference detected') })
  expect(fromMigrations).toMatchObject({ exitCode: 0, output: expect.stringContaining('No difference detected') })
})

test('a column that the schema does not know is noticed as drift', async () => {
  const database = await copyOfMigrated()
  await database.query('alter table idempotency_keys add column planted int')
  const found = await drift(database, ['--from-config-datasource'])
  expect(found).toMatchObject({ exitCode: 2, output: expect.stringContaining('planted') })
})

test('the tables are what prisma/schema.snapshot.txt says', async () => {
  expect(
    await schemaSnapshot(migrated.url),
    'The migrations make other tables than prisma/schema.snapshot.txt says. If they should: npm run snapshot',
  ).toBe(await readFile(SNAPSHOT_FILE, 'utf8'))
})

test('what Prisma counts as no drift is in the snapshot all the same', async () => {
  const database = await copyOfMigrated()
  for (const sql of [
    'alter table idempotency_keys reset (fillfactor)',
    'alter table idempotency_watermark drop constraint idempotency_watermark_id_check',
    'alter table idempotency_watermark alter column key type text collate "POSIX"',
  ]) {
    const before = await schemaSnapshot(database.url)
    await database.query(sql)
    expect(await schemaSnapshot(database.url), sql).not.toBe(before)
  }
  expect(await drift(database, ['--from-config-datasource'])).toMatchObject({ exitCode: 0 })
})

async function copyOfMigrated(): Promise<CreatedDatabase> {
  const database = await createDatabase(migrated)
  onTestFinished(() => database.drop())
  return database
}

function drift(database: CreatedDatabase, from: string[]): Promise<PrismaRun> {
  return runPrisma(['migrate', 'diff', '--exit-code', ...from, '--to-schema', 'prisma/schema'], database.url)
}
