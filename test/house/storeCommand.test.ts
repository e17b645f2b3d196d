import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'

const repository = path.resolve(import.meta.dirname, '../..')
const db = useDatabase()

/** What `npm run test:store -- ARGS` runs. */
async function testStore(...args: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/support/store/run.ts', ...args], {
    cwd: repository,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      said[name] += chunk.toString()
    })
  }
  const [exitCode] = (await once(child, 'close')) as [number | null]
  return { exitCode, ...said }
}

const contractSchemas = () => db.query(`select nspname from pg_namespace where nspname like 'idempotency_contract_%'`)

test('the contract of the store is tried on the database of --url, in a schema that is gone afterwards', async () => {
  const { exitCode, stdout } = await testStore('--url', db.url)
  expect(exitCode, stdout).toBe(0)
  expect(stdout).toMatch(/^The store's contract on PostgreSQL \d+/)
  expect(stdout).toMatch(/\n59 passed, 0 failed, 0 skipped\n$/)
  expect(await contractSchemas()).toEqual([])
  expect(await db.keys()).toEqual([])
  // Whoever adds a sentence says so, and tries it where the page says that it was tried.
  expect(readFileSync(path.join(repository, 'docs/scale.md'), 'utf8')).toContain('has 59 sentences')
})

test('with --prepared it is tried on tables that are there, which stay, and are empty afterwards', async () => {
  const { exitCode, stdout } = await testStore('--url', db.url, '--prepared')
  expect(exitCode, stdout).toBe(0)
  expect(stdout).toMatch(/\n59 passed, 0 failed, 0 skipped\n$/)
  expect(await contractSchemas()).toEqual([])
  expect(await db.keys()).toEqual([])
  expect(await db.query('select id from idempotency_watermark')).toEqual([{ id: 1 }])
})

test('it says which option it cannot use, and what it needs', async () => {
  const example = 'must be a connection string, such as postgresql://user@host:5432/name'
  for (const [args, complaint] of [
    [[], `--url ${example}, got no value.`],
    [['--url', 'localhost:5432'], `--url ${example}, got 'localhost:5432'.`],
    [['--url', 'mysql://localhost/shop'], `--url ${example}, got 'mysql://localhost/shop'.`],
    [['--url', db.url, '--prepared=yes'], `--prepared takes no value, got 'yes'.`],
    [['--url', db.url, '--schema', 'x'], 'There is no option --schema; see --help.'],
    [['--url', db.url, 'now'], `There is no argument 'now'; see --help.`],
  ] as const) {
    expect(await testStore(...args)).toEqual({ exitCode: 2, stdout: '', stderr: `${complaint}\n` })
  }
})

test('it says that a database cannot be reached, without its password', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  const { exitCode, stderr } = await testStore('--url', `postgresql://me:secret@127.0.0.1:${port}/shop`)
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(new RegExp(`^The database shop at 127\\.0\\.0\\.1:${port} cannot be reached \\(ECONNREFUSED`))
  expect(stderr).not.toContain('secret')
})

test('it never works on tables that somebody uses', async () => {
  await db.query(
    `insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    values ('0190a0a0-0000-7000-8000-000000000000', 'alice', 'create', '\\x01', 'in_flight', 1, 1, now())`,
  )
  expect(await testStore('--url', db.url, '--prepared')).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: '--prepared: the table idempotency_keys has rows. Give it tables that nobody uses.\n',
  })
  expect(await db.keys()).toHaveLength(1)
  await db.query('delete from idempotency_keys')
  await db.query('alter table idempotency_keys rename to other')
  const { exitCode, stderr } = await testStore('--url', db.url, '--prepared')
  expect(exitCode).toBe(1)
  expect(stderr).toMatch(/^--prepared: the table idempotency_keys cannot be read \(42P01: /)
})
