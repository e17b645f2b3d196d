import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { forbiddenImports, type ImportingFile } from './importRules.js'

const repository = path.resolve(import.meta.dirname, '../..')
const library = ['wire', 'client', 'server'].flatMap(filesIn).map(read)

test('no file of the library imports what the rules of the house forbid', () => {
  expect(library.length).toBeGreaterThan(30)
  expect(library.flatMap((file) => forbiddenImports(file))).toEqual([])
})

test('every package that the library imports is a dependency or a peer of it', () => {
  const declared = new Set([...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)])
  const undeclared = library.flatMap(({ file, imports }) =>
    imports
      .filter((target) => !/^(wire|client|server|node:)/.test(target) && !declared.has(packageOf(target)))
      .map((target) => `${file} imports ${target}, which package.json does not name`),
  )
  expect(undeclared).toEqual([])
})

interface Plant {
  file: string
  target: string
  reason: string
}

const plants: Plant[] = [
  { file: 'wire/key.ts', target: 'uuid', reason: 'loaded by both' },
  { file: 'wire/reasons.ts', target: 'server/errors.ts', reason: 'loaded by both' },
  { file: 'client/link.ts', target: 'server/engine/key.ts', reason: 'share only wire/' },
  { file: 'client/intents.ts', target: 'node:crypto', reason: 'share only wire/' },
  { file: 'client/options.ts', target: 'zod', reason: 'the size budget' },
  { file: 'client/intent.ts', target: 'react', reason: 'the size budget' },
  { file: 'client/scope.ts', target: '@tanstack/react-query', reason: 'the size budget' },
  { file: 'client/index.ts', target: 'client/reactQuery/bindIdempotency.ts', reason: 'the size budget' },
  { file: 'client/reactQuery/useIntent.ts', target: 'react-dom', reason: 'Whoever opens this door' },
  { file: 'client/reactQuery/keepIntent.ts', target: 'server/errors.ts', reason: 'share only wire/' },
  { file: 'server/errors.ts', target: 'client/failure.ts', reason: 'share only wire/' },
  { file: 'server/engine/decide.ts', target: 'node:timers/promises', reason: 'The engine is pure' },
  { file: 'server/engine/decide.ts', target: 'server/store/keyStore.ts', reason: 'The engine is pure' },
  { file: 'server/engine/decide.ts', target: '@trpc/server', reason: 'The engine is pure' },
  { file: 'server/modes/transaction.ts', target: '@trpc/server', reason: 'One room speaks tRPC' },
  { file: 'server/errorShape.ts', target: '@trpc/server/rpc', reason: 'One room speaks tRPC' },
  { file: 'server/plugin/createIdempotency.ts', target: '@prisma/client', reason: 'One file speaks Prisma' },
  { file: 'server/store/sqlStore.ts', target: 'server/store/prisma.ts', reason: 'the contract of sqlDatabase.ts' },
  { file: 'server/modes/transaction.ts', target: 'server/store/sqlStore.ts', reason: 'it sees the contracts' },
  { file: 'server/modes/transaction.ts', target: 'server/store/sql/claim.ts', reason: 'it sees the contracts' },
  { file: 'server/modes/wait.ts', target: 'server/plugin/createIdempotency.ts', reason: 'they never call back' },
  { file: 'server/store/sqlStore.ts', target: 'server/modes/wait.ts', reason: 'Imports point inward' },
  { file: 'server/store/sql/read.ts', target: 'server/store/prisma.ts', reason: 'A statement is text' },
  { file: 'server/plugin/createIdempotency.ts', target: 'test/support/shop.ts', reason: 'not in the package' },
  { file: 'client/link.ts', target: 'examples/shop/router.ts', reason: 'not in the package' },
  { file: 'server/store/prisma.ts', target: 'generated/prisma/client.ts', reason: 'not in the package' },
  { file: 'server/store/prisma.ts', target: 'prisma/dev/prismaCli.ts', reason: 'not in the package' },
]

for (const { file, target, reason } of plants) {
  test(`an import of ${target} in ${file} is refused, with the reason`, () => {
    const complaints = forbiddenImports({ file, imports: [target] })
    expect(complaints.filter((complaint) => complaint.includes(reason))).toHaveLength(1)
    for (const complaint of complaints) expect(complaint).toContain(`${file} imports ${target}, but `)
  })
}

test('what the rules leave open is not refused', () => {
  const open: ImportingFile[] = [
    { file: 'client/link.ts', imports: ['@trpc/client', '@trpc/server/observable', 'wire/key.ts'] },
    { file: 'client/reactQuery/useIntent.ts', imports: ['react', '@tanstack/react-query', 'client/intent.ts'] },
    { file: 'server/engine/key.ts', imports: ['node:crypto', 'canonicalize', 'uuid', 'wire/key.ts'] },
    { file: 'server/modes/transaction.ts', imports: ['server/store/keyStore.ts', 'server/engine/decide.ts'] },
    {
      file: 'server/plugin/createIdempotency.ts',
      imports: ['@trpc/server', 'server/store/prisma.ts', 'server/modes/transaction.ts'],
    },
    { file: 'server/store/sqlStore.ts', imports: ['server/store/sql/claim.ts', 'server/engine/record.ts'] },
  ]
  expect(open.flatMap((file) => forbiddenImports(file))).toEqual([])
})

test('imports are found in every form in which they can be written', () => {
  const text = `import a from 'a'
    import type { B } from 'b'
    import 'c'
    export { d } from '../d.js'
    export type { E } from './e.js'
    type F = import('f').F
    const g = await import('trpc-idempotency/client')`
  const expected = ['a', 'b', 'c', 'server/d.ts', 'server/modes/e.ts', 'f', 'client/index.ts']
  expect(importsOf('server/modes/planted.ts', text).sort()).toEqual(expected.sort())
})

function filesIn(folder: string): string[] {
  return readdirSync(path.join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => path.posix.join(folder, file.replaceAll(path.sep, '/')))
}

function read(file: string): ImportingFile {
  return { file, imports: importsOf(file, readFileSync(path.join(repository, file), 'utf8')) }
}

function importsOf(file: string, text: string): string[] {
  return ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => {
    if (fileName.startsWith('.')) return path.posix.join(path.posix.dirname(file), fileName.replace(/\.js$/, '.ts'))
    return fileName.replace(/^trpc-idempotency\/(.+)$/, '$1/index.ts')
  })
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
}
