import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { build } from 'vite'
import type { Run } from '../../examples/support/runExample.js'

const repository = path.resolve(import.meta.dirname, '../..')

/**
 * Makes one JavaScript program of the server and all that it imports. As TypeScript it takes more than a second to
 * start, most of it on the processor, and here one starts every two or three seconds; so it takes an eighth of that.
 *
 * @returns the file
 */
export async function bundleServer({ onEnd }: Run): Promise<string> {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-chaos-'))
  onEnd(() => rmSync(folder, { recursive: true, force: true }))
  await build({
    configFile: false,
    logLevel: 'error',
    root: repository,
    resolve: { alias: { 'trpc-idempotency/server': path.join(repository, 'server/index.ts') } },
    ssr: { noExternal: true },
    build: {
      ssr: path.join(import.meta.dirname, 'server/server.ts'),
      outDir: folder,
      emptyOutDir: false,
      target: 'node20',
      minify: false,
      // Else node would take a .js file outside of any package for CommonJS.
      rollupOptions: { output: { entryFileNames: 'server.mjs', chunkFileNames: '[name]-[hash].mjs' } },
    },
  })
  return path.join(folder, 'server.mjs')
}
