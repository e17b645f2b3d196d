import { existsSync } from 'node:fs'
import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import type { Edit, Row } from './rows.js'
import { outputOf, type Program, run } from './run.js'
import { usedVersions } from './usedVersions.js'

export interface RowResult {
  name: string
  versions: Record<string, string>
  passed: number
  failed: number
  skipped: number
  seconds: number
  /** What went wrong, as text to read; empty where nothing did. */
  faults: string[]
}

const repository = path.resolve(import.meta.dirname, '../..')

/** Runs the tests of a row in a copy of its own. The output goes into `log`. */
export async function runRow(row: Row, { log, signal }: { log: string; signal: AbortSignal }): Promise<RowResult> {
  const started = performance.now()
  const copy = await mkdtemp(path.join(os.tmpdir(), `trpc-idempotency-${row.name}-`))
  // Where we are root, Postgres runs as somebody else, who has to get at its programs.
  await chmod(copy, 0o755)
  const within = { cwd: copy, env: environment(row, copy), log, signal }
  const faults: string[] = []
  /** Whether it succeeded; where not, that is a fault. */
  const step = async (name: string, program: Program) => {
    const exitCode = await run(program, within)
    if (exitCode !== 0) faults.push(`${name} ended with exit code ${exitCode}`)
    return exitCode === 0
  }
  try {
    await copyRepository(copy)
    for (const [file, edits] of Object.entries(row.edits)) await edit(path.join(copy, file), edits)
    if ((await step('npm', installing(row.packages))) && (await step('prisma generate', GENERATE))) {
      if (row.compiles) await step('tsc', ['node', 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'])
      await step('vitest', [...row.within, ...testing(row)])
    }
    const output = await readFile(log, 'utf8')
    const counts = closingLine(output)
    if (counts.passed === 0) faults.push('no test passed', ...output.trimEnd().split('\n').slice(-30))
    const versions = await usedVersions(copy, { env: within.env, output })
    const seconds = Math.round((performance.now() - started) / 1000)
    return { name: row.name, versions, ...counts, seconds, faults: [...faults, ...failuresIn(output)] }
  } finally {
    await rm(copy, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** The files of the working tree, but for those that git ignores. */
async function copyRepository(copy: string): Promise<void> {
  const listed = await outputOf(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: repository,
    env: process.env,
  })
  for (const file of listed.split('\0')) {
    const from = path.join(repository, file)
    // One that was deleted here is known to git all the same.
    if (file !== '' && existsSync(from)) await cp(from, path.join(copy, file))
  }
}

async function edit(file: string, edits: Edit[] | null): Promise<void> {
  if (edits === null) return rm(file)
  let text = await readFile(file, 'utf8')
  for (const { text: old, becomes } of edits) {
    if (!text.includes(old)) throw new Error(`${file} has no ${old} for a row to change`)
    text = text.replace(old, becomes)
  }
  await writeFile(file, text)
}

/** Not `npm ci` where there is something to put over the lock file. `--force`: a row's versions may be past a peer range. */
function installing(packages: string[]): Program {
  if (packages.length === 0) return ['npm', 'ci', '--ignore-scripts']
  return ['npm', 'install', '--no-save', '--ignore-scripts', '--force', ...packages]
}

const GENERATE: Program = ['node', 'node_modules/prisma/build/index.js', 'generate', '--schema', 'prisma/schema']

function testing({ tests, without }: Row): Program {
  const leftOut = without.flatMap((name) => ['--exclude', name.endsWith('.ts') ? name : `${name}/**`])
  return ['node', 'node_modules/vitest/vitest.mjs', 'run', ...tests, ...leftOut]
}

/** Nothing of the caller's decides which database or which Node.js a row has. */
function environment(row: Row, copy: string): Record<string, string | undefined> {
  const bin = row.packages.filter((name) => name.startsWith('node-')).map((name) => name.replace(/@[^@]*$/, ''))
  const programs = bin.map((name) => path.join(copy, 'node_modules', name, 'bin'))
  const PATH = [...programs, process.env['PATH']].join(path.delimiter)
  return { ...process.env, CI: 'true', NO_COLOR: '1', TEST_DATABASE_URL: '', DATABASE_URL: '', PATH, ...row.env }
}

function closingLine(output: string): { passed: number; failed: number; skipped: number } {
  const [, passed, failed, skipped] = /^(\d+) passed, (\d+) failed, (\d+) skipped$/m.exec(output) ?? []
  return { passed: Number(passed ?? 0), failed: Number(failed ?? 0), skipped: Number(skipped ?? 0) }
}

/** The titles of the tests that failed, and the complaints of the compiler. */
function failuresIn(output: string): string[] {
  const lines = output.split('\n').map((line) => line.trim())
  return [...new Set(lines.filter((line) => /^(FAIL |\S+: error TS\d+:)/.test(line)))].slice(0, 40)
}
