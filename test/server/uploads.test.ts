import { createHash, randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { createTRPCClient, httpBatchLink, httpLink, isNonJsonSerializable, splitLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import { experimental_nextAppDirCaller as nextAppDirCaller } from '@trpc/server/adapters/next-app-dir'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { octetInputParser } from '@trpc/server/http'
import { idempotencyErrorOf, idempotencyHeaders, idempotencyLink } from 'trpc-idempotency/client'
import { createIdempotency, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { listen } from '../support/httpServer.js'
import { type Answer, read, said } from '../support/rawCall.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'

const db = useDatabase()

interface Context {
  headers: IncomingHttpHeaders
}

const t = initTRPC.context<Context>().create({ errorFormatter: endOfErrorFormatter })

/** What a handler saw of a form: its fields, and of its files name, type and text. */
async function seen(form: FormData): Promise<unknown[]> {
  const entries: unknown[] = []
  for (const [name, value] of form) {
    entries.push([name, typeof value === 'string' ? value : [value.name, value.type, await value.text()]])
  }
  return entries
}

async function digestOf(stream: ReadableStream): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) hash.update(chunk)
  return hash.digest('hex')
}

function router() {
  const idempotency = createIdempotency({
    prisma: db.prisma,
    scope: ({ ctx }: { ctx: Context }) => String(ctx.headers['x-user']),
    headers: ({ ctx }: { ctx: Context }) => ctx.headers,
  })
  const count = (key: string) => db.countRun(key)
  const leased = idempotency.lease(t.procedure)
  const transaction = idempotency.transaction(t.procedure)
  return t.router({
    form: transaction.input(z.instanceof(FormData)).mutation(async ({ ctx, input }) => {
      await count(ctx.idempotency.key)
      const entries = await seen(input)
      // What a handler does with its form is not seen by the next one.
      input.append('changed', 'by the handler')
      return entries
    }),
    upload: transaction.input(octetInputParser).mutation(async ({ ctx, input }) => {
      await count(ctx.idempotency.key)
      await ctx.tx.order.create({ data: { customer: ctx.idempotency.key, item: 'upload', cents: 1 } })
      return digestOf(input)
    }),
    look: transaction.input(octetInputParser).mutation(async ({ ctx, input }) => {
      await count(ctx.idempotency.key)
      await ctx.tx.order.create({ data: { customer: ctx.idempotency.key, item: 'upload', cents: 1 } })
      const reader = input.getReader()
      const { value } = (await reader.read()) as { value: Uint8Array }
      await reader.cancel()
      return value.length > 0
    }),
    fought: idempotency
      .transaction(t.procedure, { isolationLevel: 'RepeatableRead' })
      .input(octetInputParser)
      .mutation(async ({ ctx, input }) => {
        await count(ctx.idempotency.key)
        const digest = await digestOf(input)
        await ctx.tx.order.findUnique({ where: { id: 1001 } })
        if (ctx.idempotency.attempt === 1) await db.query('update orders set cents = cents + 1 where id = 1001')
        await ctx.tx.order.update({ where: { id: 1001 }, data: { item: 'coffee' } })
        return digest
      }),
    foughtForm: idempotency
      .transaction(t.procedure, { isolationLevel: 'RepeatableRead' })
      .input(z.instanceof(FormData))
      .mutation(async ({ ctx, input }) => {
        await count(ctx.idempotency.key)
        input.append('run', 'changed by it')
        await ctx.tx.order.findUnique({ where: { id: 1002 } })
        const isFirst = (await db.runs(ctx.idempotency.key)) === 1
        if (isFirst) await db.query('update orders set cents = cents + 1 where id = 1002')
        await ctx.tx.order.update({ where: { id: 1002 }, data: { item: 'coffee' } })
        return seen(input)
      }),
    watchedUpload: idempotency
      .lease(t.procedure, { onUnknown: 'manual' })
      .input(octetInputParser)
      .mutation(({ input }) => digestOf(input)),
    leasedUpload: leased.input(octetInputParser).mutation(async ({ ctx, input }) => {
      await count(ctx.idempotency.key)
      return digestOf(input)
    }),
  })
}
type Uploads = ReturnType<typeof router>

async function serve(): Promise<string> {
  return listen(createHTTPServer({ router: router(), createContext: ({ req }) => ({ headers: req.headers }) }))
}

function client(url: string) {
  const headers = { 'x-user': 'alice' }
  return createTRPCClient<Uploads>({
    links: [
      idempotencyLink<Uploads>({ mutations: 'all', baseDelayMs: 1 }),
      splitLink({
        condition: (op) => isNonJsonSerializable(op.input),
        true: httpLink({ url, headers: idempotencyHeaders(headers) }),
        false: httpBatchLink({ url, headers }),
      }),
    ],
  })
}

function form(
  changes: { item?: string; name?: string; type?: string; bytes?: string; order?: 'other' } = {},
): FormData {
  const { item = 'tea', name = 'note.txt', type = 'text/plain', bytes = 'with milk' } = changes
  const entries: [string, string | File][] = [
    ['item', item],
    ['note', new File([bytes], name, { type })],
    ['tag', 'a'],
    ['tag', 'b'],
  ]
  const made = new FormData()
  for (const [field, value] of changes.order === 'other' ? entries.reverse() : entries) made.append(field, value)
  return made
}

test('a form carries its key as one more field, which its handler does not see, and its repeat replays', async () => {
  const { form: send } = client(await serve())
  const context = { idempotencyKey: v7() }
  const mine = form()
  const expected = [
    ['item', 'tea'],
    ['note', ['note.txt', 'text/plain', 'with milk']],
    ['tag', 'a'],
    ['tag', 'b'],
  ]
  expect(await send.mutate(mine, { context })).toEqual(expected)
  expect(await send.mutate(form(), { context })).toEqual(expected)
  expect(await db.runs(context.idempotencyKey)).toBe(1)
  // The caller's own form is as it was.
  expect([...mine.keys()]).toEqual(['item', 'note', 'tag', 'tag'])
})

test.each([
  ['a field', { item: 'coffee' }],
  ['the name of a file', { name: 'other.txt' }],
  ['the type of a file', { type: 'text/html' }],
  ['the bytes of a file', { bytes: 'with MILK' }],
  ['the order of the fields', { order: 'other' as const }],
])('a form that differs in %s is another one: KEY_REUSED', async (_, change) => {
  const { form: send } = client(await serve())
  const context = { idempotencyKey: v7() }
  await send.mutate(form(), { context })
  expect(idempotencyErrorOf(await caught(send.mutate(form(change), { context })))).toMatchObject({
    reason: 'KEY_REUSED',
  })
  expect(await db.runs(context.idempotencyKey)).toBe(1)
})

test('a field with the text of a file is not that file', async () => {
  const { form: send } = client(await serve())
  const context = { idempotencyKey: v7() }
  const [file, field] = [new FormData(), new FormData()]
  file.append('note', new File(['x'], 'x.txt', { type: 'text/plain' }))
  field.append('note', JSON.stringify(['x.txt', 'text/plain', 1, createHash('sha256').update('x').digest('hex')]))
  await send.mutate(file, { context })
  const error = await caught(send.mutate(field, { context }))
  expect(idempotencyErrorOf(error)).toMatchObject({ reason: 'KEY_REUSED' })
})

test.each<[string, (form: FormData) => void, string]>([
  ['no key', () => undefined, 'KEY_MISSING'],
  ['a key that is none', (made) => made.append('~idempotency', '"undefined"'), 'KEY_INVALID'],
  ['two keys', (made) => void [v7(), v7()].map((key) => made.append('~idempotency', key)), 'KEY_INVALID'],
  ['a file for a key', (made) => made.append('~idempotency', new File([v7()], 'key')), 'KEY_INVALID'],
])('a form with %s is refused, and nothing runs', async (_, change, reason) => {
  const url = await serve()
  const body = form()
  change(body)
  const answer = await read(await fetch(`${url}/form`, { method: 'POST', headers: { 'x-user': 'alice' }, body }))
  expect([answer.status, said(answer)]).toEqual([400, { reason, attemptOutcome: 'NOT_EXECUTED' }])
})

test.each(['upload', 'leasedUpload'] as const)(
  'bytes by %s: the handler gets them whole, a repeat replays, and others are KEY_REUSED',
  async (path) => {
    const { [path]: send } = client(await serve())
    const context = { idempotencyKey: v7() }
    // Larger than any buffer on the way.
    const bytes = randomBytes(3_000_000)
    const digest = createHash('sha256').update(bytes).digest('hex')
    expect(await send.mutate(new Blob([bytes]), { context })).toBe(digest)
    expect(await send.mutate(new Blob([bytes]), { context })).toBe(digest)
    const error = await caught(send.mutate(new Blob([randomBytes(100)]), { context }))
    expect(idempotencyErrorOf(error)).toMatchObject({ reason: 'KEY_REUSED' })
    expect(await db.runs(context.idempotencyKey)).toBe(1)
  },
)

test.each<[string, Fault[]]>([
  ['is lost with its reply', ['cutAfter']],
  ['never arrived', ['cutBefore']],
  ['arrived twice', ['deliver twice']],
])('an upload that %s is sent again, whole, and executes once', async (_, plan) => {
  const proxy = await startFaultProxy(await serve(), plan)
  const { upload, form: send } = client(proxy.url)
  const context = { idempotencyKey: v7() }
  const bytes = randomBytes(100_000)
  expect(await upload.mutate(new Blob([bytes]), { context })).toBe(createHash('sha256').update(bytes).digest('hex'))
  expect(await db.runs(context.idempotencyKey)).toBe(1)
  const forms = { idempotencyKey: v7() }
  plan.push(...plan)
  expect(await send.mutate(form(), { context: forms })).toHaveLength(4)
  expect(await db.runs(forms.idempotencyKey)).toBe(1)
})

const sha256 = (bytes: Uint8Array) => `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`
const bytes = new Uint8Array(randomBytes(200_000))

test('bytes cannot be given to a second run: a serialization failure is told, and the client sends them again', async () => {
  await db.query("insert into orders (id, customer, item, cents) values (1001, 'other', 'tea', 1)")
  const url = await serve()
  const proxy = await startFaultProxy(url, [])
  const { fought } = client(proxy.url)
  const context = { idempotencyKey: v7() }
  expect(await fought.mutate(new Blob([bytes]), { context })).toBe(createHash('sha256').update(bytes).digest('hex'))
  expect(proxy.delivered()).toBe(2)
  expect(await db.runs(context.idempotencyKey)).toBe(2)
})

test('a form that a server action makes an object of carries its key as well', async () => {
  const caller = nextAppDirCaller({ pathExtractor: () => 'order', createContext: async () => ({ headers: {} }) })
  const idempotency = createIdempotency({ prisma: db.prisma, scope: () => 'alice' })
  const order = idempotency
    .transaction(t.procedure.experimental_caller(caller))
    .input(z.object({ item: z.string() }).strict())
    .mutation(async ({ ctx, input }) => {
      await db.countRun(ctx.idempotency.key)
      return input
    })
  const key = v7()
  const fields = (item: string, named = key) => {
    const made = new FormData()
    made.append('item', item)
    return withIdempotencyKey(made, named) as never
  }
  for (const _ of [1, 2]) expect(await order(fields('tea'))).toEqual({ item: 'tea' })
  expect(await db.runs(key)).toBe(1)
  await expect(order(fields('coffee'))).rejects.toMatchObject({ cause: { reason: 'KEY_REUSED' } })
  await expect(order(fields('tea', 'undefined'))).rejects.toMatchObject({ cause: { reason: 'KEY_INVALID' } })
})

test('a form is given to a second run as the caller sent it, whatever the first one did with it', async () => {
  await db.query("insert into orders (id, customer, item, cents) values (1002, 'other', 'tea', 1)")
  const { foughtForm } = client(await serve())
  const context = { idempotencyKey: v7() }
  const entries = await foughtForm.mutate(form(), { context })
  expect(await db.runs(context.idempotencyKey)).toBe(2)
  expect(entries.map((entry) => (entry as unknown[])[0])).toEqual(['item', 'note', 'tag', 'tag', 'run'])
})

/** Posts `bytes` with the headers of another client. */
async function post(address: string, headers: Record<string, string>): Promise<Answer> {
  const all = { 'content-type': 'application/octet-stream', 'x-user': 'alice', ...headers }
  return read(await fetch(address, { method: 'POST', headers: all, body: bytes }))
}

test.each([
  ['no digest', undefined],
  ['a digest of another kind', 'sha-512=:AAAA:'],
  ['half a digest', sha256(bytes).slice(0, 30)],
])('bytes with %s are refused before anything runs', async (_, digest) => {
  const url = await serve()
  const key = v7()
  const headers = { 'idempotency-key': key, ...(digest !== undefined && { 'content-digest': digest }) }
  const answer = await post(`${url}/upload`, headers)
  expect([answer.status, said(answer)]).toEqual([400, { reason: 'DIGEST_INVALID', attemptOutcome: 'NOT_EXECUTED' }])
  expect(await db.keys()).not.toContainEqual(expect.objectContaining({ key }))
})

test.each([
  ['reads them', 'upload'],
  ['looks at the first ones alone', 'look'],
])('bytes that are others than announced: a handler that %s leaves nothing behind', async (_, path) => {
  const url = await serve()
  const key = v7()
  const wrong = { 'idempotency-key': key, 'content-digest': sha256(new Uint8Array([1])) }
  const answer = await post(`${url}/${path}`, wrong)
  expect([answer.status, said(answer)]).toEqual([400, { reason: 'DIGEST_INVALID', attemptOutcome: 'NOT_EXECUTED' }])
  expect(await db.keys()).not.toContainEqual(expect.objectContaining({ key }))
  expect(await db.orders()).not.toContainEqual(expect.objectContaining({ customer: key }))
  // The key is as good as new.
  const right = { 'idempotency-key': key, 'content-digest': `sha-512=:AAAA:, ${sha256(bytes)}` }
  expect((await post(`${url}/${path}`, right)).status).toBe(200)
  expect(await db.orders()).toContainEqual(expect.objectContaining({ customer: key }))
})

test('in lease mode such bytes leave the outcome unknown, for the handler may have acted on them', async () => {
  const url = await serve()
  const key = v7()
  const wrong = { 'idempotency-key': key, 'content-digest': sha256(new Uint8Array([1])) }
  const answer = await post(`${url}/leasedUpload`, wrong)
  expect([answer.status, said(answer)]).toEqual([400, { reason: 'DIGEST_INVALID', attemptOutcome: 'UNKNOWN' }])
  expect(await db.keys()).toContainEqual(expect.objectContaining({ key, status: 'released' }))
  // Refused with a code of 4xx, and yet no proof that nothing happened.
  const watched = v7()
  const manual = await post(`${url}/watchedUpload`, { ...wrong, 'idempotency-key': watched })
  expect([manual.status, said(manual)]).toEqual([409, { reason: 'ABANDONED', attemptOutcome: 'UNKNOWN' }])
})
