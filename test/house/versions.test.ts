import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { ROWS } from '../../.ci/versions/rows.js'
import manifest from '../../package.json' with { type: 'json' }

const matrix = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync('.ci/matrix', args, {
    cwd: path.resolve(import.meta.dirname, '../..'),
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('the oldest version of every range that package.json promises has a row', () => {
  expect({ ...manifest.peerDependencies, ...manifest.engines }).toEqual({
    '@prisma/client': '>=6.16 <8',
    // test/reactQuery/versions.ts has its oldest.
    '@tanstack/react-query': '^5.80.3',
    '@trpc/client': '^11.10.0',
    '@trpc/server': '^11.10.0',
    react: '>=18.2',
    typescript: '>=5.7',
    node: '>=20.19',
  })
  const installed = ROWS.flatMap(({ packages }) => packages)
  expect(installed).toEqual(
    expect.arrayContaining([
      '@prisma/client@6.16',
      '@trpc/client@11.10.0',
      '@trpc/server@11.10.0',
      'react@18.2.0',
      'typescript@5.7.2',
      expect.stringMatching(/^node-.+@20\.19\.0$/),
    ]),
  )
})

test('the matrix says which rows and options there are when it is asked for another', () => {
  expect(matrix('trpc-olds')).toEqual({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^There is no row 'trpc-olds': trpc-oldest, trpc-newest, prisma-6\.16, /),
  })
  expect(matrix('--smal')).toEqual({
    status: 2,
    stdout: '',
    stderr: `Unknown option '--smal'. The options are --tests "...", --small, --list and --help.\n`,
  })
})
