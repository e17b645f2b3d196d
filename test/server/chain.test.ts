import { lazy, TRPCError } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { originalInput, unwrapInput } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { useDatabase } from '../support/database/testDatabase.js'
import { listen, serve } from '../support/httpServer.js'
import { contextOf } from '../support/httpServerContext.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const idempotency = () => shopIdempotency(db.prisma)
const order = { item: 'tea', cents: 350 }

async function call(router: Parameters<typeof serve>[0], path: string, input: unknown = order) {
  const url = await serve(router)
  const key = v7()
  const send = (attempt: number) => rawCall(url, { path, input, key, attempt })
  return { key, first: await send(1), again: await send(2) }
}

const wrappers = [
  ['transaction', () => (procedure: typeof authed) => idempotency().transaction(procedure)],
  ['lease', () => (procedure: typeof authed) => idempotency().lease(procedure)],
] as const

test.each(wrappers)('%s: an .output() before the wrapper is refused when it is defined', (_, wrapper) => {
  // The types of two builders differ; what counts is what is found at run time.
  const procedure = authed.output(z.object({ id: z.number() })) as unknown as typeof authed
  expect(() => wrapper()(procedure)).toThrow(
    'an idempotent procedure must not have its .output() before the wrapper: it would refuse the result after the commit',
  )
})

test.each(wrappers)('%s: an .input() before the wrapper is refused when it is defined', (_, wrapper) => {
  const procedure = authed.input(OrderInput) as unknown as typeof authed
  expect(() => wrapper()(procedure)).toThrow('Put .input() after the wrapper, or .use(unwrapInput) before it')
  // Too late: the parser has been given the envelope by then.
  const late = authed.input(OrderInput).use(unwrapInput) as unknown as typeof authed
  expect(() => wrapper()(late)).toThrow('has its .input() before the wrapper')
})

test('with unwrapInput an .input() before the wrapper gets the caller’s input, and adds up with one after it', async () => {
  const procedure = authed.use(unwrapInput).input(z.object({ item: z.string() }))
  const router = t.router({
    create: idempotency()
      .transaction(procedure)
      .input(z.object({ cents: z.number() }))
      .mutation(async ({ ctx, input }) => {
        await db.countRun(ctx.idempotency.key)
        return input
      }),
  })
  // What no parser asked for does not get past them.
  const { key, first, again } = await call(router, 'create', { ...order, unasked: true })
  expect(first.data).toEqual(order)
  expect(again).toEqual(first)
  expect(await db.runs(key)).toBe(1)
})

test('with a header for the key an .input() before the wrapper is no mistake', () => {
  const options = { headers: () => undefined }
  expect(() => shopIdempotency(db.prisma, options).transaction(authed.input(OrderInput))).not.toThrow()
})

test('with unwrapInput a middleware that authorises by the raw input sees what the caller gave', async () => {
  const owned = t.procedure.use(unwrapInput).use(async ({ ctx, getRawInput, next }) => {
    const { item } = z.object({ item: z.string() }).parse(await getRawInput())
    if (item !== 'tea') throw new TRPCError({ code: 'FORBIDDEN' })
    return next({ ctx: { ...ctx, user: { id: 'alice' } } })
  })
  const router = t.router({
    create: idempotency()
      .transaction(owned)
      .input(OrderInput)
      .mutation(({ input }) => input),
  })
  expect((await call(router, 'create')).first.data).toEqual(order)
  const refused = await call(router, 'create', { ...order, item: 'whisky' })
  expect(refused.first.error?.data['code']).toBe('FORBIDDEN')
})

test('unwrapInput lets calls without a key pass, and the wrapper refuses them', async () => {
  const base = authed.use(unwrapInput)
  const router = t.router({
    look: base.input(OrderInput).query(({ input }) => input),
    plain: base.input(OrderInput).mutation(({ input }) => input),
    create: idempotency()
      .transaction(base)
      .input(OrderInput)
      .mutation(({ input }) => input),
  })
  const url = await serve(router)
  const look = await fetch(`${url}/look?input=${encodeURIComponent(JSON.stringify(order))}`, {
    headers: { 'x-user': 'alice' },
  })
  expect(await look.json()).toEqual({ result: { data: order } })
  expect((await rawCall(url, { path: 'plain', input: order })).data).toEqual(order)
  expect(said(await rawCall(url, { path: 'create', input: order }))).toMatchObject({ reason: 'KEY_MISSING' })
})

test('an .output() after the wrapper fails inside: nothing is left, and the next attempt runs', async () => {
  let good = false
  const router = t.router({
    create: idempotency()
      .transaction(authed)
      .output(z.object({ id: z.number() }))
      .mutation(async ({ ctx }) => {
        await db.countRun(ctx.idempotency.key)
        await ctx.tx.order.create({ data: { customer: ctx.idempotency.key, ...order } })
        return (good ? { id: 1 } : { id: 'none' }) as { id: number }
      }),
  })
  const url = await serve(router)
  const key = v7()
  expect((await rawCall(url, { path: 'create', key })).status).toBe(500)
  expect(await db.query('select 1 from orders where customer = $1', [key])).toEqual([])
  good = true
  expect((await rawCall(url, { path: 'create', key, attempt: 2 })).data).toEqual({ id: 1 })
  expect(await db.runs(key)).toBe(2)
})

test('middlewares before the wrapper run on every attempt; those after it run with the handler alone, in its transaction', async () => {
  const seen: string[] = []
  const before = authed.use(({ next }) => {
    seen.push('before')
    return next()
  })
  const router = t.router({
    create: idempotency()
      .transaction(before)
      .use(async ({ ctx, next }) => {
        seen.push('after')
        await ctx.tx.order.create({ data: { customer: `${ctx.idempotency.key} by a middleware`, ...order } })
        return next()
      })
      .mutation(({ ctx }) => {
        seen.push('handler')
        return ctx.idempotency.key
      }),
  })
  const { key, first, again } = await call(router, 'create')
  expect([first.data, again.data]).toEqual([key, key])
  expect(seen).toEqual(['before', 'after', 'handler', 'before'])
  expect(await db.query('select 1 from orders where customer = $1', [`${key} by a middleware`])).toHaveLength(1)
})

test('a builder that is joined by .concat() after the wrapper is part of the handler, inputs and outputs included', async () => {
  const priced = t.procedure.input(z.object({ cents: z.number() })).output(z.object({ cents: z.number() }))
  const router = t.router({
    create: idempotency()
      .transaction(authed)
      .concat(priced)
      .mutation(({ ctx, input }) => ({ cents: input.cents, dropped: ctx.idempotency.key })),
  })
  const { first, again } = await call(router, 'create')
  expect(first.data).toEqual({ cents: 350 })
  expect(again).toEqual(first)
  expect((await call(router, 'create', { cents: 'many' })).first.error?.data['code']).toBe('BAD_REQUEST')
})

test('an idempotent builder that is joined by .concat() to another one keeps its promises', async () => {
  const base = t.procedure.use(({ next }) => next({ ctx: { user: { id: 'alice' } } }))
  const procedure = idempotency().transaction(authed)
  const router = t.router({
    create: base.concat(procedure).mutation(async ({ ctx }) => {
      await db.countRun(ctx.idempotency.key)
      return ctx.idempotency.key
    }),
  })
  const { key, first, again } = await call(router, 'create')
  expect([first.data, again.data]).toEqual([key, key])
  expect(await db.runs(key)).toBe(1)
})

test('nested and lazy routers: the path tells procedures apart, and a repeat replays', async () => {
  const orders = t.router({
    create: idempotency()
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        await db.countRun(ctx.idempotency.key)
        return ctx.idempotency.key
      }),
  })
  const router = t.router({ shop: { nested: orders }, late: lazy(async () => ({ orders }) as const) })
  const url = await serve(router)
  for (const path of ['shop.nested.create', 'late.create']) {
    const key = v7()
    const send = (to: string, attempt: number) => rawCall(url, { path: to, key, attempt })
    expect((await send(path, 1)).data).toBe(key)
    expect((await send(path, 2)).data).toBe(key)
    expect(await db.runs(key)).toBe(1)
    const other = path === 'late.create' ? 'shop.nested.create' : 'late.create'
    expect(said(await send(other, 1))).toMatchObject({ reason: 'KEY_REUSED' })
  }
})

test('originalInput gives hooks what the caller gave, and anything else as it is', async () => {
  const seen: unknown[] = []
  const router = t.router({
    create: idempotency()
      .transaction(authed)
      .input(OrderInput)
      .mutation(() => {
        throw new TRPCError({ code: 'CONFLICT' })
      }),
  })
  const url = await listen(
    createHTTPServer({
      router,
      createContext: ({ req }) => contextOf(req),
      onError: ({ input }) => seen.push(input, originalInput(input)),
    }),
  )
  const key = v7()
  await rawCall(url, { path: 'create', input: order, key })
  expect(seen).toEqual([{ '~idempotency': { key, attempt: 1 }, '~input': order }, order])
  for (const other of [undefined, null, 'text', order, [order]]) expect(originalInput(other)).toBe(other)
})

test('an idempotent server action without a name is refused: all of them would be one procedure', async () => {
  const create = idempotency()
    .transaction(authed)
    .mutation(() => 'done')
  const invoke = create as unknown as (call: object) => Promise<unknown>
  const envelope = { '~idempotency': { key: v7(), attempt: 1 }, '~input': order }
  const action = { type: 'mutation', path: '', ctx: { user: { id: 'alice' } }, input: envelope, batchIndex: 0 }
  await expect(invoke({ ...action, getRawInput: async () => envelope })).rejects.toThrow(
    'an idempotent server action needs a name: give its caller a pathExtractor',
  )
})
