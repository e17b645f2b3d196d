import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { getStatusCodeFromKey } from '@trpc/server/unstable-core-do-not-import'
import { createIdempotency, idempotencyResponseMeta } from 'trpc-idempotency/server'
import { REASONS } from 'trpc-idempotency/wire'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { useDatabase } from '../support/database/testDatabase.js'
import { listen } from '../support/httpServer.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'

const db = useDatabase()
const page = readFileSync(path.resolve(import.meta.dirname, '../../docs/wire.md'), 'utf8')

interface Context {
  headers: { authorization?: string | undefined; 'idempotency-key'?: string | string[] | undefined }
}

async function serveShop(): Promise<string> {
  const t = initTRPC.context<Context>().create({ isDev: false, errorFormatter: endOfErrorFormatter })
  const idempotency = createIdempotency({
    prisma: db.prisma,
    scope: ({ ctx }: { ctx: Context }) => ctx.headers.authorization ?? '',
    headers: ({ ctx }: { ctx: Context }) => ctx.headers as Record<string, string>,
  })
  const router = t.router({
    order: {
      create: idempotency
        .transaction(t.procedure)
        .input(z.object({ item: z.string(), cents: z.int() }))
        .mutation(async ({ ctx, input }) => {
          const customer = ctx.idempotency.scope
          await ctx.tx.order.create({ data: { customer, ...input } })
          return { ...input, customer }
        }),
    },
  })
  return listen(
    createHTTPServer({
      router,
      createContext: ({ req }) => ({ headers: req.headers }),
      responseMeta: idempotencyResponseMeta,
    }),
  )
}

/** Does what a command line of curl says, without curl: a shell takes the words apart. */
async function curl(command: string, env: Record<string, string>): Promise<string> {
  const printed = await new Promise<string>((resolve, reject) => {
    const script = `curl() { printf '%s\\n' "$@"; }\n${command}`
    execFile('sh', ['-c', script], { env: { ...process.env, ...env } }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
  const [url = '', ...words] = printed.trimEnd().split('\n')
  const headers: Record<string, string> = {}
  let body = ''
  for (let at = 0; at < words.length; at += 2) {
    const word = words[at + 1] ?? ''
    if (words[at] === '-d') body = word
    else headers[word.slice(0, word.indexOf(':'))] = word.slice(word.indexOf(':') + 1).trim()
  }
  const response = await fetch(url, { method: 'POST', headers, body })
  const replayed = response.headers.get('idempotency-replayed') === 'true' ? ' replayed' : ''
  return `${response.status}${replayed}\n${await response.text()}\n`
}

test('each curl command of docs/wire.md is answered exactly as the page says', async () => {
  const env = { URL: await serveShop(), KEY: v7() }
  const examples = [...page.matchAll(/```sh\n(curl [\s\S]*?)```\n\n```\n([\s\S]*?)```/g)]
  expect(examples).toHaveLength(6)
  for (const [, command = '', answer] of examples) expect(await curl(command, env), command).toBe(answer)
  expect(await db.orders()).toEqual([
    { customer: 'alice', item: 'tea', cents: 350 },
    { customer: 'bob', item: 'tea', cents: 350 },
  ])
})

test('the table of reasons in docs/wire.md is the one in the code', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| (\d+) \| (\w+) \| (.+) \|$/gm)]
  const documented = Object.fromEntries(
    rows.map(([, reason, code, status, attemptOutcome, sameKeyAgain]) => [
      reason,
      { code, status: Number(status), attemptOutcome, sameKeyAgain },
    ]),
  )
  const inCode = Object.entries(REASONS).map(([reason, row]) => [
    reason,
    { ...row, status: getStatusCodeFromKey(row.code) },
  ])
  expect(documented).toEqual(Object.fromEntries(inCode))
})
