import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }

const tests = path.resolve(import.meta.dirname, '..')

test('what npm run test:pgbouncer leaves out of the suite never opens a connection to a database', () => {
  const folders = /^TEST_THROUGH_PGBOUNCER=1 vitest run --typecheck.enabled=false --exclude 'test\/{(.+)}\/\*\*'$/
  const leftOut = folders.exec(manifest.scripts['test:pgbouncer'])?.[1]?.split(',') ?? []
  expect(leftOut).toEqual(['engine', 'model', 'wire'])
  for (const folder of leftOut) {
    for (const file of readdirSync(path.join(tests, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue
      const text = readFileSync(path.join(tests, folder, file), 'utf8')
      expect([folder, file, /support\/|generated\/|from 'pg'|node:(child_process|net)/.exec(text)?.[0]]).toEqual([
        folder,
        file,
        undefined,
      ])
    }
  }
})
