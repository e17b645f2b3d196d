import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsumerProject, createConsumerProject } from './consumerProject.js'

const repository = path.resolve(import.meta.dirname, '../..')
let consumer: ConsumerProject

beforeAll(async () => {
  consumer = await createConsumerProject()
})

afterAll(() => consumer.remove())

test('the package holds the compiled library, the schema to copy and its migration, and nothing else', () => {
  const compiled = ['wire', 'client', 'server']
    .flatMap((folder) => sourcesIn(folder))
    .flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`, `dist/${name}.js.map`])
  expect(consumer.packaged).toEqual(
    [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'package.json',
      'prisma/migrations/20261130000000_idempotency/migration.sql',
      'prisma/partitioning/partition.sql',
      'prisma/schema/idempotency.prisma',
      ...compiled,
    ].sort(),
  )
})

test('every map in the package brings its sources along: theirs are not installed', () => {
  const maps = consumer.packaged.filter((name) => name.endsWith('.map'))
  for (const name of maps) {
    const map: { sources: string[]; sourcesContent?: string[] } = JSON.parse(packaged(name))
    expect(map.sources, name).toHaveLength(1)
    expect(map.sourcesContent, name).toHaveLength(1)
  }
  for (const name of consumer.packaged.filter((name) => /\.(js|d\.ts)$/.test(name))) {
    const [, map] = /^\/\/# sourceMappingURL=(.+)$/m.exec(packaged(name)) ?? []
    if (map !== undefined) expect(maps).toContain(path.posix.join(path.posix.dirname(name), map))
  }
})

test('each door opens in plain Node.js, and no other does', async () => {
  for (const [door, name] of [
    ['client', 'idempotencyLink'],
    ['react-query', 'bindIdempotency'],
    ['server', 'createIdempotency'],
    ['journal', 'resumeIntents'],
    ['wire', 'REASONS'],
  ]) {
    expect(await namesOf(`trpc-idempotency/${door}`)).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining(name ?? ''),
    })
  }
  for (const door of ['trpc-idempotency', 'trpc-idempotency/dist/client/link.js']) {
    expect(await namesOf(door)).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('ERR_PACKAGE_PATH_NOT_EXPORTED'),
    })
  }
})

test('a bundle of the doors for browsers asks for no module of Node.js', async () => {
  expect(await builtinsOf(`export * from 'trpc-idempotency/client'`)).toEqual([])
  expect(await builtinsOf(`export * from 'trpc-idempotency/react-query'`)).toEqual([])
  expect(await builtinsOf(`export * from 'trpc-idempotency/wire'`)).toEqual([])
  expect(await builtinsOf(`export * from 'trpc-idempotency/client'\nimport 'node:fs'`)).toEqual(['node:fs'])
})

for (const moduleResolution of ['nodenext', 'bundler'] as const) {
  test(`the declarations of all doors compile with moduleResolution ${moduleResolution}`, async () => {
    expect(await consumer.compile(moduleResolution)).toEqual({ exitCode: 0, output: '' })
  })
}

function sourcesIn(folder: string): string[] {
  return readdirSync(path.join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name.replaceAll(path.sep, '/').slice(0, -'.ts'.length)}`)
}

function packaged(name: string): string {
  return readFileSync(path.join(consumer.folder, 'node_modules/trpc-idempotency', name), 'utf8')
}

function namesOf(door: string) {
  return consumer.node('--input-type=module', '-e', `console.log(Object.keys(await import('${door}')))`)
}

/** The modules of Node.js that a bundler meets on its way through everything that `code` imports. */
async function builtinsOf(code: string): Promise<string[]> {
  const entry = path.join(consumer.folder, 'browser.js')
  await writeFile(entry, code)
  const found = new Set<string>()
  await build({
    root: consumer.folder,
    configFile: false,
    logLevel: 'silent',
    build: { write: false, rolldownOptions: { input: entry } },
    plugins: [
      {
        name: 'notice-builtins',
        enforce: 'pre',
        resolveId(source) {
          if (isBuiltin(source)) found.add(source)
          return null
        },
      },
    ],
  })
  return [...found]
}
