import { createServer } from 'node:http'
import path from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { build } from 'vite'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { findProgram } from './findProgram.js'
import { listen } from './httpServer.js'

const repository = path.resolve(import.meta.dirname, '../..')

/** Starts Chromium for a test file: the one in `CHROMIUM`, else that of the system. */
export function useBrowser(): {
  open(url: string): Promise<Page>
  /** A profile of its own: tabs that share what the browser keeps. */
  profile(): Promise<BrowserContext>
} {
  let browser: Browser
  beforeAll(async () => {
    const executablePath = process.env['CHROMIUM'] ?? findProgram(['chromium', 'chromium-browser', 'google-chrome'])
    // Root has no sandbox; the pages are our own.
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox'],
      // Playwright switches it off; users have it.
      ignoreDefaultArgs: ['--disable-back-forward-cache'],
    })
  })
  afterAll(() => browser?.close())
  return {
    async open(url) {
      const page = await browser.newPage()
      onTestFinished(() => page.close())
      await page.goto(url)
      return page
    },
    async profile() {
      const context = await browser.newContext()
      onTestFinished(() => context.close())
      return context
    },
  }
}

/** Serves a page that runs one script, bundled as for production, until the test ends; gives its URL. */
export async function servePage(script: string): Promise<string> {
  const code = await bundle(script)
  const server = createServer((request, response) => {
    const isScript = request.url === '/script.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(
      isScript ? code : '<!doctype html><title>A page</title><script type="module" src="/script.js"></script>',
    )
  })
  return listen(server)
}

/** The code of a page, bundled as for production. */
export async function bundle(script: string): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    resolve: {
      alias: {
        'trpc-idempotency/client': path.join(repository, 'client/index.ts'),
        'trpc-idempotency/journal': path.join(repository, 'client/journal/index.ts'),
        'trpc-idempotency/react-query': path.join(repository, 'client/reactQuery/index.ts'),
      },
    },
    build: { write: false, rollupOptions: { input: path.join(repository, script) } },
  })
  const [output] = Array.isArray(built) ? built : [built]
  const chunk = output !== undefined && 'output' in output ? output.output[0] : undefined
  if (chunk?.type !== 'chunk') throw new Error(`${script} gave no bundle`)
  return chunk.code
}
