import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import process from 'node:process'
import { optionsOrExit } from '../../../examples/support/options.js'
import { NoContract, prepareTables } from './prepareTables.js'
import { HELP, readOptions } from './storeOptions.js'

// The contract of the store against a database that somebody has: npm run test:store -- --url postgresql://...
const { url, prepared } = optionsOrExit(readOptions, HELP)
const repository = path.resolve(import.meta.dirname, '../../..')
try {
  const { schema, version, remove } = await prepareTables(url, prepared)
  console.log(`The store's contract on ${version}`)
  try {
    process.exitCode = await runTests({ TEST_STORE_URL: url, TEST_STORE_SCHEMA: schema })
  } finally {
    await remove()
  }
} catch (error) {
  if (!(error instanceof NoContract)) throw error
  console.error(error.message)
  process.exitCode = 1
}

/** One file after the other: they share the tables. */
async function runTests(env: Record<string, string>): Promise<number> {
  const args = ['run', 'test/store', '--no-file-parallelism', '--typecheck.enabled=false', '--reporter=verbose']
  const runner = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', ...args, '--reporter=./test/support/closingLine.ts'],
    { cwd: repository, env: { ...process.env, ...env }, stdio: 'inherit' },
  )
  // The terminal interrupts the runner too: its end is waited for, and then the tables go.
  process.on('SIGINT', () => undefined)
  const [code] = (await once(runner, 'exit')) as [number | null]
  return code ?? 1
}
