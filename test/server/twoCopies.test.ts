import { createTRPCClient, httpLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { v7 } from 'uuid'
import { expect, test, vi } from 'vitest'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { listen } from '../support/httpServer.js'
import { contextOf } from '../support/httpServerContext.js'
import { rawCall, said } from '../support/rawCall.js'
import type { Authed, Context } from '../support/shop.js'

const db = useDatabase()

/** Loads the library anew: what it exports is not the same as what was loaded before. */
async function copy() {
  vi.resetModules()
  return {
    client: await import('trpc-idempotency/client'),
    server: await import('trpc-idempotency/server'),
  }
}

test('two copies of the library in one application know each other’s errors, keys and marks', async () => {
  const [one, other] = [await copy(), await copy()]
  expect(one.server.IdempotencyError).not.toBe(other.server.IdempotencyError)

  const logged: unknown[] = []
  const t = initTRPC.context<Context>().create({
    errorFormatter: ({ shape, error }) => other.server.addIdempotencyErrorData({ shape, error }),
  })
  const authed = t.procedure.use(other.server.unwrapInput).use(({ next }) => next({ ctx: { user: { id: 'alice' } } }))
  const idempotency = one.server.createIdempotency({
    prisma: db.prisma,
    scope: ({ ctx }: { ctx: Authed }) => ctx.user.id,
    headers: ({ ctx }: { ctx: Context }) => ctx.headers,
  })
  const router = t.router({ create: idempotency.transaction(authed).mutation(({ ctx }) => ctx.idempotency.key) })
  const url = await listen(
    createHTTPServer({
      router,
      createContext: ({ req }) => contextOf(req),
      responseMeta: other.server.idempotencyResponseMeta,
      onError: ({ error }) => logged.push(other.server.isIdempotencyError(error.cause)),
    }),
  )

  for (const carrier of ['input', 'header'] as const) {
    const seen: (string | null)[] = []
    const client = createTRPCClient<typeof router>({
      links: [
        one.client.idempotencyLink<typeof router>({ mutations: { create: true }, carrier }),
        httpLink({
          url,
          headers: other.client.idempotencyHeaders(),
          async fetch(address, init) {
            const response = await fetch(address, init as RequestInit)
            seen.push(response.headers.get('idempotency-replayed'))
            return response
          },
        }),
      ],
    })
    const context = { idempotencyKey: v7() }
    for (const _ of [1, 2]) expect(await client.create.mutate({} as never, { context })).toBe(context.idempotencyKey)
    expect(seen).toEqual([null, 'true'])
    const error = await caught(client.create.mutate('another input' as never, { context }))
    expect(other.client.idempotencyErrorOf(error)).toMatchObject({ reason: 'KEY_REUSED', outcome: 'NOT_EXECUTED' })
  }
  expect(logged).toEqual([true, true])
})

test('a client that one copy guards is refused inside the transactions of another', async () => {
  const [one, other] = [await copy(), await copy()]
  const prisma = other.server.guardClient(db.prisma)
  const t = initTRPC.context<Context>().create({ errorFormatter: one.server.addIdempotencyErrorData })
  const idempotency = one.server.createIdempotency({ prisma: db.prisma, scope: () => 'alice' })
  const router = t.router({ create: idempotency.transaction(t.procedure).mutation(() => prisma.order.count()) })
  const url = await listen(createHTTPServer({ router, createContext: ({ req }) => contextOf(req) }))
  const answer = await rawCall(url, { path: 'create', key: v7() })
  expect(said(answer)).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'NOT_EXECUTED' })
})
