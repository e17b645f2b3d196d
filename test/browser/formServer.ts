import { createServer } from 'node:http'
import { initTRPC } from '@trpc/server'
import { createHTTPHandler } from '@trpc/server/adapters/standalone'
import superjson from 'superjson'
import { createIdempotency } from 'trpc-idempotency/server'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { bundle } from '../support/browser.js'
import { listen } from '../support/httpServer.js'
import { contextOf } from '../support/httpServerContext.js'
import { type Context, OrderInput } from '../support/shop.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'

const t = initTRPC.context<Context>().create({
  transformer: superjson,
  errorFormatter: endOfErrorFormatter,
})

function formRouter(prisma: PrismaClient) {
  const idempotency = createIdempotency({
    prisma,
    scope: ({ ctx }: { ctx: Context }) => ctx.user?.id ?? '',
    serializer: superjson,
  })
  return t.router({
    order: idempotency
      .transaction(t.procedure)
      .input(OrderInput.extend({ at: z.date() }))
      .mutation(async ({ ctx, input: { item, cents } }) => {
        const customer = ctx.idempotency.scope
        await ctx.tx.order.create({ data: { customer, item, cents } })
        return `${item} for ${customer}`
      }),
  })
}
export type FormRouter = ReturnType<typeof formRouter>

const PAGE = `<!doctype html><title>The shop</title>
<form><input name="item" value="tea"><button>Order</button></form>
<ol id="answers"></ol><p id="pending"></p>
<script type="module" src="/script.js"></script>`

/** One origin with the shop's page, its script and its API below /trpc. */
export async function serveForm(prisma: PrismaClient): Promise<string> {
  const script = await bundle('test/browser/page/formPage.ts')
  const api = createHTTPHandler({
    router: formRouter(prisma),
    basePath: '/trpc/',
    createContext: ({ req }) => contextOf(req),
  })
  return listen(
    createServer((request, response) => {
      if (request.url?.startsWith('/trpc/')) return api(request, response)
      const isScript = request.url === '/script.js'
      response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
      response.end(isScript ? script : request.url === '/' ? PAGE : '<!doctype html><title>Elsewhere</title>')
    }),
  )
}
