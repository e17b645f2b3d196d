import path from 'node:path'
import process from 'node:process'
import { configDefaults, defineConfig } from 'vitest/config'

const source = (file: string) => path.join(import.meta.dirname, file)

export default defineConfig({
  resolve: {
    alias: {
      'trpc-idempotency/client': source('client/index.ts'),
      'trpc-idempotency/journal': source('client/journal/index.ts'),
      'trpc-idempotency/react-query': source('client/reactQuery/index.ts'),
      'trpc-idempotency/server': source('server/index.ts'),
      'trpc-idempotency/wire': source('wire/index.ts'),
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    // They need Chromium, which npm does not bring: npm run test:browser.
    exclude: [...configDefaults.exclude, ...(process.env['TEST_IN_BROWSER'] === '1' ? [] : ['test/browser/**'])],
    // The type tests are compiled, not run: each of their expectations is an error of tsc when it is wrong.
    typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'] },
    globalSetup: ['test/support/database/setup.ts'],
    reporters: ['default', './test/support/closingLine.ts'],
    // Real processes and real databases: slow machines need the room, and nothing here waits for time to pass.
    expect: { poll: { timeout: 15_000 } },
    testTimeout: 60_000,
    hookTimeout: 120_000,
  },
})
