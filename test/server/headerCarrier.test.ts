import type { IncomingHttpHeaders } from 'node:http'
import { createTRPCClient, httpBatchLink, httpBatchStreamLink, httpLink, type TRPCLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { idempotencyErrorOf, idempotencyHeaders, idempotencyLink } from 'trpc-idempotency/client'
import { createIdempotency, type RequestHeaders } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { listen } from '../support/httpServer.js'
import { type Answer, read, said } from '../support/rawCall.js'
import { OrderInput } from '../support/shop.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'

const db = useDatabase()
const order = { item: 'tea', cents: 350 }

interface Context {
  headers: IncomingHttpHeaders
}

const t = initTRPC.context<Context>().create({ errorFormatter: endOfErrorFormatter })

function shop(headers?: (call: { ctx: Context }) => RequestHeaders | undefined) {
  const idempotency = createIdempotency({
    prisma: db.prisma,
    scope: ({ ctx }: { ctx: Context }) => String(ctx.headers['x-user']),
    ...(headers !== undefined && { headers }),
  })
  return t.router({
    create: idempotency
      .transaction(t.procedure)
      .input(OrderInput)
      .mutation(async ({ ctx, input }) => {
        await db.countRun(ctx.idempotency.key)
        const { id } = await ctx.tx.order.create({ data: { customer: ctx.idempotency.scope, ...input } })
        return { id, key: ctx.idempotency.key, attempt: ctx.idempotency.attempt }
      }),
  })
}
type Shop = ReturnType<typeof shop>

async function serve(
  headers: ((call: { ctx: Context }) => RequestHeaders | undefined) | null = ({ ctx }) => ctx.headers,
) {
  const createContext = ({ req }: { req: { headers: IncomingHttpHeaders } }) => ({ headers: req.headers })
  return listen(createHTTPServer({ router: shop(headers ?? undefined), createContext }))
}

async function post(url: string, headers: Record<string, string>, body: unknown = order): Promise<Answer> {
  const all = { 'content-type': 'application/json', 'x-user': 'alice', ...headers }
  return read(await fetch(`${url}/create`, { method: 'POST', headers: all, body: JSON.stringify(body) }))
}

test.each([
  ['a string', (key: string) => `"${key}"`],
  ['a bare token', (key: string) => key],
])('a client that only sends the header, with its key as %s, executes once and replays', async (_, spell) => {
  const url = await serve()
  const key = v7()
  const first = await post(url, { 'idempotency-key': spell(key) })
  expect(first.data).toMatchObject({ key, attempt: 1 })
  expect(await post(url, { 'Idempotency-Key': `${spell(key)};attempt=2` })).toEqual(first)
  expect(await db.runs(key)).toBe(1)
  const reuse = await post(url, { 'idempotency-key': spell(key) }, { ...order, cents: 1 })
  expect([reuse.status, said(reuse)]).toEqual([422, { reason: 'KEY_REUSED', attemptOutcome: 'NOT_EXECUTED' }])
})

const headers = { 'x-user': 'alice' }

test.each<[string, (url: string) => TRPCLink<Shop>]>([
  ['httpLink', (url) => httpLink({ url, headers: idempotencyHeaders(headers) })],
  ['httpBatchLink', (url) => httpBatchLink({ url, headers: idempotencyHeaders(headers) })],
  ['httpBatchStreamLink', (url) => httpBatchStreamLink({ url, headers: idempotencyHeaders(headers) })],
])('keys that travel in the header of %s reach each call of the request', async (_, endingLink) => {
  const url = await serve()
  const client = createTRPCClient<Shop>({
    links: [idempotencyLink<Shop>({ mutations: { create: true }, carrier: 'header' }), endingLink(url)],
  })
  const keys = [v7(), v7(), v7()]
  const sendAll = () =>
    Promise.all(keys.map((idempotencyKey) => client.create.mutate(order, { context: { idempotencyKey } })))
  const first = await sendAll()
  expect(first.map(({ key }) => key)).toEqual(keys)
  expect(await sendAll()).toEqual(first)
  expect(await Promise.all(keys.map((key) => db.runs(key)))).toEqual([1, 1, 1])
})

test('the same operation is one, whether its key travels in the header or in the input', async () => {
  const url = await serve()
  const key = v7()
  const first = await post(url, { 'idempotency-key': `"${key}"` })
  const envelope = { '~idempotency': { key, attempt: 2 }, '~input': order }
  expect(await post(url, {}, envelope)).toEqual(first)
  // Both at once, as long as they agree.
  expect(await post(url, { 'idempotency-key': `"${key}"` }, envelope)).toEqual(first)
  expect(await db.runs(key)).toBe(1)
})

test('a header and an input that name different keys are refused, and nothing runs', async () => {
  const url = await serve()
  const [one, other] = [v7(), v7()]
  const envelope = { '~idempotency': { key: one, attempt: 1 }, '~input': order }
  const answer = await post(url, { 'idempotency-key': `"${other}"` }, envelope)
  expect([answer.status, said(answer)]).toEqual([400, { reason: 'KEY_INVALID', attemptOutcome: 'NOT_EXECUTED' }])
  expect(answer.error?.message).toContain('name different keys')
  expect([await db.runs(one), await db.runs(other)]).toEqual([0, 0])
})

test.each([
  ['undefined', 'KEY_INVALID'],
  ['"undefined"', 'KEY_INVALID'],
  ['"019c0000-0000-4000-8000-000000000000"', 'KEY_INVALID'],
  [`"${'x'.repeat(300)}"`, 'KEY_INVALID'],
  ['"not closed', 'KEY_INVALID'],
  ['"x";attempt=0', 'KEY_INVALID'],
  ['', 'KEY_MISSING'],
  ['""', 'KEY_MISSING'],
])('the header %s is refused with %s, and nothing runs', async (value, reason) => {
  const url = await serve()
  const before = await db.orders()
  const answer = await post(url, { 'idempotency-key': value })
  expect([answer.status, said(answer)]).toEqual([400, { reason, attemptOutcome: 'NOT_EXECUTED' }])
  expect(await db.orders()).toEqual(before)
})

test('without the option headers the header is not read, and the error says where it would be', async () => {
  const url = await serve(null)
  const answer = await post(url, { 'idempotency-key': `"${v7()}"` })
  expect(said(answer)).toEqual({ reason: 'KEY_MISSING', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).toContain('createIdempotency has the option headers')
})

test('a link whose ending link sends no key is told so by the server, and does not run unprotected', async () => {
  const url = await serve()
  const client = createTRPCClient<Shop>({
    links: [
      idempotencyLink<Shop>({ mutations: { create: true }, carrier: 'header' }),
      httpLink({ url, headers: { 'x-user': 'alice' } }),
    ],
  })
  const before = await db.orders()
  const error = await caught(client.create.mutate(order))
  expect(error.message).toBe('create was sent without its key: the ending link lacks headers: idempotencyHeaders(...).')
  expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 1, outcome: 'NOT_EXECUTED', reason: 'KEY_MISSING' })
  expect(await db.orders()).toEqual(before)
})

test.each([
  ['Headers of the fetch API', (headers: IncomingHttpHeaders) => new Headers(headers as Record<string, string>)],
  ['names as they were written', ({ 'idempotency-key': key }: IncomingHttpHeaders) => ({ 'Idempotency-Key': key })],
  [
    'a header in several lines',
    ({ 'idempotency-key': key }: IncomingHttpHeaders) => ({ 'idempotency-key': [String(key)] }),
  ],
])('the option headers may give %s', async (_, from) => {
  const url = await serve(({ ctx }) => from(ctx.headers) as RequestHeaders)
  const key = v7()
  expect((await post(url, { 'idempotency-key': `"${key}"` })).data).toMatchObject({ key })
})

test('an in-process call has no request: its key is in the input, and headers may give undefined', async () => {
  const caller = t.createCallerFactory(shop(() => undefined))({ headers: { 'x-user': 'alice' } })
  const error = (await caught(caller.create(order))) as Error & { cause?: { reason?: string } }
  expect(error.cause?.reason).toBe('KEY_MISSING')
})
