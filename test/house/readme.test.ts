import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const repository = path.resolve(import.meta.dirname, '../..')
const text = (file: string) => readFileSync(path.join(repository, file), 'utf8')
const readme = text('README.md')

test('every snippet of the README stands, word for word, in the minimal example', () => {
  const example = text('examples/minimal/server.ts') + text('examples/minimal/client.ts')
  const snippets = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, snippet]) => snippet ?? '')
  expect(snippets).toHaveLength(2)
  for (const snippet of snippets) expect(example).toContain(snippet)
})

test('the minimal example has less than 60 lines in all', () => {
  const files = ['server.ts', 'client.ts', 'run.ts'].map((file) => text(`examples/minimal/${file}`))
  expect(files.reduce((sum, file) => sum + file.split('\n').length - 1, 0)).toBeLessThan(60)
})

test('every command of the README is a script, and every file that it links to exists', () => {
  const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> }
  const run = [...readme.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name]) => name ?? '')
  expect(run.length).toBeGreaterThan(0)
  for (const name of run) expect(Object.keys(scripts)).toContain(name)
  for (const [, file] of readme.matchAll(/\]\(((?!https?:)[^)#]+)[^)]*\)/g)) {
    expect(() => readFileSync(path.join(repository, file ?? ''))).not.toThrow(/ENOENT/)
  }
})

test('the README names every option, with its default', () => {
  for (const [file, names] of [
    [
      'client/options.ts',
      [
        'mutations',
        'maxAttempts',
        'attemptTimeoutMs',
        'baseDelayMs',
        'maxDelayMs',
        'carrier',
        'deadlineMs',
        'retryBudget',
      ],
    ],
    ['client/options.ts', ['onEvent', 'journal']],
    ['server/options.ts', ['serializer', 'retentionMs', 'skewMs', 'schema', 'waitMs', 'claimWaitMs', 'timeoutMs']],
    [
      'server/options.ts',
      ['maxWaitMs', 'isolationLevel', 'maxReruns', 'maxResultBytes', 'storeError', 'idleWarningMs', 'headers', 'seal'],
    ],
  ] as const) {
    for (const name of names) {
      expect(text(file)).toMatch(new RegExp(`\\b${name}\\b`))
      expect(readme).toContain(`\`${name}\``)
    }
  }
})

test.each(['guarantees', 'modes', 'procedures', 'react-query', 'transports', 'client', 'at-rest', 'round-trips'])(
  'every row of docs/%s.md leads to a test that exists, by its title',
  (page) => {
    const [body = '', ...rest] = text(`docs/${page}.md`).split(/\n(?=\[[^\]]+\]: \.\.\/test\/)/)
    const links = [...rest.join('\n').matchAll(/^\[(.+)\]: \.\.\/(\S+) "(.+)"$/gm)]
    expect(links.length).toBeGreaterThan(9)
    for (const [, name, file = '', title = ''] of links) {
      expect(text(file)).toContain(title)
      expect(body).toContain(`[${name}][]`)
    }
    // And none of them is missing.
    const used = new Set([...body.matchAll(/\[([^\]]+)\]\[\]/g)].map(([, name]) => name))
    expect(new Set(links.map(([, name]) => name))).toEqual(used)
  },
)
