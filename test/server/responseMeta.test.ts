import { createServer } from 'node:http'
import {
  createTRPCClient,
  type HTTPLinkOptions,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  type TRPCLink,
} from '@trpc/client'
import { initTRPC, TRPCError } from '@trpc/server'
import { createHTTPHandler, createHTTPServer } from '@trpc/server/adapters/standalone'
import { idempotencyLink } from 'trpc-idempotency/client'
import { createIdempotency, idempotencyResponseMeta, unwrapInput } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { createBarrier, passBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { listen } from '../support/httpServer.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'

const db = useDatabase()
const t = initTRPC.create()
type FetchEsque = NonNullable<HTTPLinkOptions<{ transformer: false; errorShape: unknown }>['fetch']>

async function serve(inHandler: () => Promise<void> = async () => undefined) {
  const idempotency = createIdempotency({ prisma: db.prisma, scope: () => 'alice' })
  const router = t.router({
    create: idempotency.transaction(t.procedure).mutation(({ ctx }) => ctx.idempotency.key),
    slow: idempotency.transaction(t.procedure, { waitMs: 0 }).mutation(async () => inHandler()),
    unwrapped: idempotency.transaction(t.procedure.use(unwrapInput)).mutation(({ ctx }) => ctx.idempotency.key),
    refuse: idempotency
      .transaction(t.procedure, proceduresHaveErrors ? { storeError: () => true } : {})
      .mutation((): string => {
        throw new TRPCError({ code: 'CONFLICT' })
      }),
  })
  const url = await listen(
    createHTTPServer({
      router,
      responseMeta(call) {
        const { headers } = idempotencyResponseMeta(call)
        headers.set('x-own', 'kept')
        return { headers }
      },
    }),
  )
  return { url, router }
}
type Router = Awaited<ReturnType<typeof serve>>['router']

/** Sends mutations with keys in one request each, or in one for all; gives the headers of the last response. */
function sender(linkOf: (options: { url: string; fetch: FetchEsque }) => TRPCLink<Router>, url: string) {
  let last = new Headers()
  const client = createTRPCClient<Router>({
    links: [
      idempotencyLink<Router>({ mutations: 'all', maxAttempts: 1 }),
      linkOf({
        url,
        async fetch(address, init) {
          const response = await fetch(address, init as RequestInit)
          last = response.headers
          return response
        },
      }),
    ],
  })
  return async (calls: [path: 'create' | 'slow' | 'refuse' | 'unwrapped', key: string][]) => {
    await Promise.allSettled(
      calls.map(([path, idempotencyKey]) => client[path].mutate(undefined, { context: { idempotencyKey } })),
    )
    expect(last.get('x-own')).toBe('kept')
    return { replayed: last.get('idempotency-replayed'), retryAfter: last.get('retry-after') }
  }
}

test.each(['create', 'unwrapped', ...(proceduresHaveErrors ? (['refuse'] as const) : [])] as const)(
  'a replay of %s says so in a header, and a first answer does not',
  async (path) => {
    const { url } = await serve()
    const send = sender((options) => httpLink(options), url)
    const key = v7()
    expect(await send([[path, key]])).toEqual({ replayed: null, retryAfter: null })
    expect(await send([[path, key]])).toEqual({ replayed: 'true', retryAfter: null })
  },
)

test('a batch says it of each of its calls, by their places', async () => {
  const { url } = await serve()
  const send = sender((options) => httpBatchLink(options), url)
  const [one, other] = [v7(), v7()]
  expect(await send([['create', one]])).toEqual({ replayed: null, retryAfter: null })
  expect(
    await send([
      ['create', one],
      ['create', other],
      ['create', one],
    ]),
  ).toEqual({ replayed: 'true, false, true', retryAfter: null })
})

test('an IN_FLIGHT answer says in whole seconds when to come back', async () => {
  const barrier = await createBarrier(1)
  const { url } = await serve(() => passBarrier(barrier.url))
  const send = sender((options) => httpLink(options), url)
  const key = v7()
  const first = send([['slow', key]])
  await barrier.allArrived
  expect(await sender((options) => httpLink(options), url)([['slow', key]])).toEqual({
    replayed: null,
    retryAfter: '1',
  })
  barrier.open()
  await first
})

test('a stream sends its headers before any call has ended: it has neither, and nothing is thrown', async () => {
  const { url } = await serve()
  const send = sender((options) => httpBatchStreamLink(options), url)
  const key = v7()
  for (const _ of [1, 2]) expect(await send([['create', key]])).toEqual({ replayed: null, retryAfter: null })
})

test('a request that reaches no procedure has neither', async () => {
  const handler = createHTTPHandler({ router: t.router({}), responseMeta: idempotencyResponseMeta })
  const url = await listen(createServer(handler))
  const response = await fetch(`${url}/nothing`, { method: 'POST', headers: { 'content-type': 'application/json' } })
  expect(response.status).toBe(404)
  expect(response.headers.get('idempotency-replayed')).toBeNull()
})
