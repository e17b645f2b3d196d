import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const repository = path.resolve(import.meta.dirname, '../..')
const text = (file: string) => readFileSync(path.join(repository, file), 'utf8')
const page = text('docs/scale.md')

test('docs/scale.md names every file of statements, and none that is not there', () => {
  const files = readdirSync(path.join(repository, 'server/store/sql')).map((file) => file.replace(/\.ts$/, ''))
  for (const file of files) expect(page).toContain(`\`${file}\``)
  const rows = [...page.matchAll(/^\| (`.+?) \|.*\| ([A-M ]*)\|$/gm)]
  const named = rows.flatMap(([, names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? ''))
  for (const name of named.filter((one) => !['markWork', 'undoWork'].includes(one))) expect(files).toContain(name)
  expect(rows.length).toBeGreaterThan(16)
})

test.each<[string, RegExp]>([
  ['A', /on conflict \([^)]*\) do nothing/],
  ['D', /lockBound|bounds\(|bounded\(/],
  ['E', /lockBound|bounds\(|bounded\(/],
  ['F', /bounds\(|bounded\(/],
  ['H', /pg_current_xact_id|settle\(tables\)/],
  ['I', /for share/],
  ['J', /skip locked/],
  ['K', /savepoint /],
])('the statements that docs/scale.md marks with %s are those that have it', (letter, pattern) => {
  const files = readdirSync(path.join(repository, 'server/store/sql')).map((file) => file.replace(/\.ts$/, ''))
  // Parts of others, which stand in the files that use them.
  const parts = ['age', 'bounds', 'heldRow', 'leftBehindRow', 'tables']
  const having = files.filter((file) => {
    const sql = text(`server/store/sql/${file}.ts`).replace(/\/\*\*[\s\S]*?\*\//g, '')
    return !parts.includes(file) && pattern.test(sql.replace(/^import .*$/gm, ''))
  })
  const marked = [...page.matchAll(/^\| (`.+?) \|.*\| ([A-M ]*)\|$/gm)]
    .filter(([, , letters = '']) => letters.includes(letter))
    .flatMap(([, names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? ''))
  expect(having).not.toEqual([])
  expect([...new Set(marked)].filter((name) => files.includes(name)).sort()).toEqual(expect.arrayContaining(having))
  if (letter !== 'A') expect(marked.filter((name) => files.includes(name)).sort()).toEqual(having)
})

test('every test that docs/scale.md names is there, and so is every file that it links to', () => {
  for (const title of [
    'no statement of the store sets, locks, prepares or listens to anything that outlives its transaction',
    'a session that everything was done in is left as it was found',
  ]) {
    expect(page.replace(/\s+/g, ' ')).toContain(title)
    expect(text('test/server/sessionState.test.ts')).toContain(title)
  }
  for (const [, file = ''] of page.matchAll(/\]\(((?!https?:)[^)#]+)[^)]*\)/g)) {
    expect(() => readdirSync(path.join(repository, 'docs', file))).not.toThrow(/ENOENT/)
  }
  // The features of the second table, each of which the first explains.
  expect([...page.matchAll(/^\| ([A-M]) \|/gm)].map(([, letter]) => letter).join('')).toBe('ABCDEFGHIJKLM')
})
