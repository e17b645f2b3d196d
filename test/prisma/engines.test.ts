import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { prisma } from '../../prisma/dev/prismaCli.js'
import { type CreatedDatabase, createDatabase } from './createDatabase.js'

const repository = path.resolve(import.meta.dirname, '../..')
const text = (file: string) => readFileSync(path.join(repository, file), 'utf8')
let schema: string
let database: CreatedDatabase

beforeAll(async () => {
  schema = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-schema-'))
  const datasource = 'datasource db {\n  provider = "cockroachdb"\n}\n'
  const generator = 'generator client {\n  provider = "prisma-client"\n  output = "./client"\n}\n'
  writeFileSync(path.join(schema, 'schema.prisma'), datasource + generator)
  cpSync(path.join(repository, 'prisma/schema/idempotency.prisma'), path.join(schema, 'idempotency.prisma'))
  database = await createDatabase()
})

afterAll(async () => {
  rmSync(schema, { recursive: true, force: true })
  await database.drop()
})

test('prisma/engines/cockroachdb.sql begins with what Prisma makes of our models for CockroachDB', async () => {
  const script = path.join(schema, 'migration.sql')
  await prisma(['migrate', 'diff', '--from-empty', '--to-schema', schema, '--script', '-o', script], database.url)
  const [, made = ''] = readFileSync(script, 'utf8').split('CREATE SCHEMA IF NOT EXISTS "public";\n\n')
  expect(made).toContain('CREATE TABLE "idempotency_watermark"')
  expect(text('prisma/engines/cockroachdb.sql')).toContain(made)
})

test('what it adds by hand is what the migration for Postgres adds', () => {
  const addedIn = (file: string) =>
    [...text(file).matchAll(/^ALTER TABLE \S+ ADD CONSTRAINT \S+ CHECK [^;]*;|^INSERT .*$/gm)].map(([sql]) => sql)
  const added = addedIn('prisma/engines/cockroachdb.sql')
  expect(added).toHaveLength(2)
  expect(added).toEqual(addedIn('prisma/migrations/20261130000000_idempotency/migration.sql'))
})
