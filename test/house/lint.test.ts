import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const repository = path.resolve(import.meta.dirname, '../..')

interface Plant {
  fault: string
  file: string
  code: string
  /** What the lint must say: not that it is forbidden, but why. */
  reason: string
}

const ONE_CLOCK = "There is one clock, and it is Postgres'"
const SERIALIZER = 'JSON.stringify drops undefined, turns a Date into text and throws on a bigint'
const UNSAFE_SQL = 'Text that reaches this method is run as SQL'
const OPTIONAL_PEER = 'OpenTelemetry is an optional peer'
const NAMED = 'export * makes every new name of another file public by accident'

const plants: Plant[] = [
  {
    fault: 'a time of day on the server',
    file: 'server/modes/planted.ts',
    code: 'export const now = () => Date.now()\n',
    reason: ONE_CLOCK,
  },
  {
    fault: 'a Date in a type on the server',
    file: 'server/planted.ts',
    code: 'export interface Planted {\n  claimedAt: Date\n}\n',
    reason: ONE_CLOCK,
  },
  {
    fault: 'JSON.stringify in the engine',
    file: 'server/engine/planted.ts',
    code: 'export const text = (value: unknown) => JSON.stringify(value)\n',
    reason: SERIALIZER,
  },
  {
    fault: 'JSON.stringify handed on as a function by the client',
    file: 'client/planted.ts',
    code: 'export const texts = (values: unknown[]) => values.map(JSON.stringify)\n',
    reason: SERIALIZER,
  },
  {
    fault: 'unsafe SQL in the store',
    file: 'server/store/planted.ts',
    code: `export const ask = (tx: { $queryRawUnsafe(sql: string): unknown }) => tx.$queryRawUnsafe('select 1')\n`,
    reason: UNSAFE_SQL,
  },
  {
    fault: 'an unsafe statement in the plugin',
    file: 'server/plugin/answers.ts',
    code: `export const run = (tx: { $executeRawUnsafe(sql: string): unknown }) => tx?.$executeRawUnsafe('select 1')\n`,
    reason: UNSAFE_SQL,
  },
  {
    fault: 'OpenTelemetry at run time',
    file: 'server/events.ts',
    code: `import { trace } from '@opentelemetry/api'\n\nexport const tracer = trace.getTracer('planted')\n`,
    reason: OPTIONAL_PEER,
  },
  {
    fault: 'OpenTelemetry loaded later',
    file: 'server/events.ts',
    code: `export const load = () => import('@opentelemetry/api')\n`,
    reason: OPTIONAL_PEER,
  },
  {
    fault: 'OpenTelemetry passed on',
    file: 'server/index.ts',
    code: `export { trace } from '@opentelemetry/api'\n`,
    reason: OPTIONAL_PEER,
  },
  {
    fault: 'export *',
    file: 'client/index.ts',
    code: `export * from './link.js'\n`,
    reason: NAMED,
  },
  {
    fault: 'export * under a name',
    file: 'examples/planted.ts',
    code: `export * as link from './link.js'\n`,
    reason: NAMED,
  },
  {
    fault: 'a non-null assertion',
    file: 'test/planted.ts',
    code: 'export const first = (values: string[]) => values[0]!.length\n',
    reason: 'Forbidden non-null assertion',
  },
  {
    fault: 'any',
    file: 'wire/planted.ts',
    code: 'export const same = (value: any) => value\n',
    reason: 'any disables many type checking rules',
  },
  {
    fault: 'a floating promise',
    file: 'server/planted.ts',
    code: 'async function settle(): Promise<void> {}\n\nexport function end(): void {\n  settle()\n}\n',
    reason: 'A "floating" Promise was found',
  },
  {
    fault: 'a promise in a condition',
    file: 'client/planted.ts',
    code: `async function isOver(): Promise<boolean> {
  return true
}

export const word = () => (isOver() ? 'over' : 'on')
`,
    reason: 'A Promise was found where a conditional was expected',
  },
  {
    fault: 'four parameters',
    file: 'server/planted.ts',
    code: 'export const sum = (a: number, b: number, c: number, d: number) => a + b + c + d\n',
    reason: 'Function has 4 parameters, but only 3 are allowed',
  },
  {
    fault: 'what is no more than a warning',
    file: 'server/planted.ts',
    code: 'export function planted(): void {\n  const forgotten = 1\n}\n',
    reason: 'This variable forgotten is unused',
  },
]

for (const { fault, file, code, reason } of plants) {
  test(`the lint refuses ${fault}, and says why`, () => {
    const { status, output } = lint({ [file]: code })
    expect(output).toContain(reason)
    expect(status).not.toBe(0)
  })
}

test('the lint passes what the rules leave to the file that is meant for it', () => {
  const { status, output } = lint({
    'server/engine/serializer.ts': 'export const toText = (value: unknown) => JSON.stringify(value)\n',
    'server/store/prisma.ts': `export const run = (tx: { $queryRawUnsafe(sql: string): unknown }) => tx.$queryRawUnsafe('select 1')\n`,
    'server/otel.ts': `import { trace } from '@opentelemetry/api'\n\nexport const tracer = trace.getTracer('x')\n`,
    'server/events.ts': `import type { Span } from '@opentelemetry/api'\n\nexport type Ended = (span: Span) => void\n`,
    'client/clock.ts': `export const env = process.env['CLOCK']\n\nexport const now = () => Date.now()\n`,
    'examples/print.ts': 'export const print = (value: unknown) => JSON.stringify(value)\n',
  })
  expect(output).not.toContain(' ━━')
  expect(status).toBe(0)
})

/** Runs this repository's lint over files in a folder of their own, laid out like the repository. */
function lint(files: Record<string, string>): { status: number | null; output: string } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-lint-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['biome.jsonc', 'lint', '.gitignore']) {
    cpSync(path.join(repository, name), path.join(folder, name), { recursive: true })
  }
  for (const [file, code] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true })
    writeFileSync(path.join(folder, file), code)
  }
  const [program = '', ...args] = manifest.scripts.lint.split(' ')
  const { status, stdout, stderr } = spawnSync(path.join(repository, 'node_modules/.bin', program), args, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: '1' },
  })
  return { status, output: stdout + stderr }
}
