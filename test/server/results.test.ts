import { createTRPCClient, httpLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import superjson from 'superjson'
import { idempotencyLink } from 'trpc-idempotency/client'
import { withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, type Context, shopIdempotency, t } from '../support/shop.js'
import { endOfErrorFormatter, proceduresHaveErrors } from '../support/trpcVersion.js'

const db = useDatabase()

/** Router whose one mutation returns what `make` makes, without a transformer. */
function plainRouter(make: () => unknown, options = {}) {
  return t.router({
    make: shopIdempotency(db.prisma, options)
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        await ctx.tx.order.create({ data: { customer: 'results', item: 'made', cents: 1 } })
        return make()
      }),
  })
}

/** The same with superjson on both sides. */
function superjsonRouter(make: () => unknown) {
  const s = initTRPC.context<Context>().create({ transformer: superjson, errorFormatter: endOfErrorFormatter })
  const procedure = s.procedure.use(({ ctx, next }) => next({ ctx: { user: ctx.user ?? { id: '' } } }))
  return s.router({
    make: shopIdempotency(db.prisma, { serializer: superjson })
      .transaction(procedure)
      .mutation(async ({ ctx }) => {
        await ctx.tx.order.create({ data: { customer: 'results', item: 'made', cents: 1 } })
        return make()
      }),
    same: s.procedure.mutation(() => make()),
  })
}

const carriedBySuperjson: [string, unknown][] = [
  ['undefined', undefined],
  ['null', null],
  ['a Date', new Date(86_400_000)],
  ['a BigInt', 2n ** 80n],
  [
    'a Map',
    new Map<unknown, unknown>([
      ['a', new Date(0)],
      [{ b: 1 }, 2n],
    ]),
  ],
  ['a Set', new Set([1, '1', undefined])],
  ['minus zero', -0],
  ['NaN and infinities', [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
  ['a regular expression', /a+b/gi],
  ['a URL', new URL('https://example.org/?q=1')],
  ['a text with NUL and half a surrogate pair', 'a\0b\ud800'],
  ['nested undefined', { a: undefined, b: [undefined, { c: undefined }] }],
  ['nested kinds', { list: [new Date(1), { big: 1n, set: new Set([new Map([[1, -0]])]) }] }],
  [
    'values that are shared',
    (() => {
      const shared = { at: new Date(2) }
      return { a: shared, b: [shared] }
    })(),
  ],
  ['a name that is special to JavaScript', JSON.parse('{"a":{"constructor1":1,"toString":2}}')],
  ['an empty Map and an empty Set', [new Map(), new Set()]],
]

test.each(carriedBySuperjson)(
  '%s under superjson: the first answer and the replay are deep-equal and byte-equal',
  async (_, value) => {
    const router = superjsonRouter(() => value)
    const url = await serve(router)
    const key = v7()
    const body = { key, input: superjson.serialize(undefined) }
    // superjson wraps the whole input, envelope included; over raw HTTP that is written out by hand.
    const send = (attempt: number) => postSuperjson(url, { key: body.key, attempt })
    const first = await send(1)
    const repeat = await send(1)
    const retry = await send(2)
    expect(repeat).toBe(first)
    expect(retry).toBe(first)
    // And it is what the same procedure sends without the library.
    const bare = await (
      await fetch(`${url}/same`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"json":null}',
      })
    ).text()
    expect(first).toBe(bare)

    const client = createTRPCClient<typeof router>({
      links: [
        idempotencyLink<typeof router>({ mutations: { make: true } }),
        httpLink({ url, transformer: superjson, headers: { 'x-user': 'alice' } }),
      ],
    })
    const context = { idempotencyKey: v7() }
    const answers = [await client.make.mutate(undefined, { context }), await client.make.mutate(undefined, { context })]
    for (const answer of answers) expect(answer).toStrictEqual(value)
  },
)

async function postSuperjson(url: string, carried: { key: string; attempt: number }): Promise<string> {
  const response = await fetch(`${url}/make`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': 'alice' },
    body: JSON.stringify({ json: { '~idempotency': carried } }),
  })
  return response.text()
}

const carriedByJson: [string, unknown, unknown][] = [
  ['undefined', undefined, undefined],
  ['null', null, null],
  ['a text with NUL', 'a\0b', 'a\0b'],
  ['a nested value', { a: [1, { b: 'c' }], d: null }, { a: [1, { b: 'c' }], d: null }],
  ['a Date, as its text', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  ['undefined properties, left out', { a: undefined, b: 1 }, { b: 1 }],
]

test.each(carriedByJson)(
  '%s under plain JSON: the first answer and the replay are the same',
  async (_, value, arrives) => {
    const router = plainRouter(() => value)
    const url = await serve(router)
    const call = { path: 'make', key: v7() }
    const first = await rawCall(url, call)
    expect(first.status).toBe(200)
    expect(first.data).toStrictEqual(arrives)
    expect((await rawCall(url, call)).text).toBe(first.text)
    // In one process there is no wire that would make them equal by itself.
    const caller = t.createCallerFactory(router)({ user: { id: 'caller' } })
    const input = withIdempotencyKey(undefined, v7())
    expect(await caller.make(input)).toStrictEqual(arrives)
    expect(await caller.make(input)).toStrictEqual(arrives)
  },
)

test('every attempt is given a copy of its own', async () => {
  const caller = t.createCallerFactory(plainRouter(() => ({ list: [1] })))({ user: { id: 'copies' } })
  const input = withIdempotencyKey(undefined, v7())
  const [a, b] = await Promise.all([caller.make(input), caller.make(input)])
  expect(a).toEqual(b)
  expect(a).not.toBe(b)
})

const cycle: Record<string, unknown> = {}
cycle['self'] = cycle

const notStorable: [string, () => unknown, string][] = [
  ['a promise', () => ({ order: Promise.resolve(1) }), 'a promise at order'],
  ['a promise deep inside', () => ({ a: [{ b: Promise.resolve(1) }] }), 'a promise at a.0.b'],
  ['a promise in a Map', () => new Map([['a', Promise.resolve(1)]]), 'a promise at a'],
  ['a query that was not awaited', () => ({ orders: db.prisma.order.findMany() }), 'a promise at orders'],
  [
    'an async generator',
    () =>
      (async function* () {
        yield 1
      })(),
    'a stream or an async iterator',
  ],
  [
    'a generator',
    () => ({
      rows: (function* () {
        yield 1
      })(),
    }),
    'a generator at rows',
  ],
  ['a ReadableStream', () => new ReadableStream(), 'a stream or an async iterator'],
  ['an observable', () => ({ subscribe: () => undefined }), 'an observable'],
  ['a Response', () => ({ response: new Response('x') }), 'a Request or Response at response'],
  ['a Blob', () => new Blob(['x']), 'a Blob'],
  ['a FormData', () => ({ form: new FormData() }), 'a FormData at form'],
  ['a BigInt without a transformer', () => ({ n: 1n }), 'was refused by the serializer'],
  ['a cycle', () => cycle, 'was refused by the serializer'],
]

test.each(notStorable)(
  '%s cannot be stored: an error inside the transaction, and nothing happened',
  async (_, make, says) => {
    const before = (await db.orders()).length
    const url = await serve(plainRouter(make))
    const key = v7()
    const answer = await rawCall(url, { path: 'make', key })
    expect(answer.status).toBe(500)
    expect(said(answer)).toEqual({ reason: 'RESULT_NOT_STORABLE', attemptOutcome: 'NOT_EXECUTED' })
    expect(answer.error?.message).toContain(says)
    expect(await db.orders()).toHaveLength(before)
    expect((await db.keys()).filter((row) => row.key === key)).toEqual([])
  },
)

test('a result of exactly maxResultBytes is stored, and one byte more is refused before anything commits', async () => {
  // A text of n characters has n + 2 bytes with its quotes; ü has two.
  const url = await serve(plainRouter(() => `ü${'x'.repeat(96)}`, { maxResultBytes: 100 }))
  expect((await rawCall(url, { path: 'make', key: v7() })).status).toBe(200)

  const before = (await db.orders()).length
  const larger = await serve(plainRouter(() => `ü${'x'.repeat(97)}`, { maxResultBytes: 100 }))
  const answer = await rawCall(larger, { path: 'make', key: v7() })
  expect(answer.status).toBe(500)
  expect(said(answer)).toEqual({ reason: 'RESULT_TOO_LARGE', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).toContain('101 bytes, of 100 at most')
  expect(await db.orders()).toHaveLength(before)
})

// An older tRPC does not show a procedure which transformer its router has.
test.skipIf(!proceduresHaveErrors)('a router with a transformer is refused when the serializer was left out', () => {
  const s = initTRPC.context<Context>().create({ transformer: superjson })
  const idempotency = shopIdempotency(db.prisma)
  const procedure = s.procedure.use(({ next }) => next({ ctx: { user: { id: 'x' } } }))
  expect(() => idempotency.transaction(procedure)).toThrow(
    /has a transformer; give the same one as the option serializer/,
  )
})
