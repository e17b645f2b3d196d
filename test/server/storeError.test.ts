import { initTRPC, TRPCError } from '@trpc/server'
import { createIdempotency, type TRPCErrorLike } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { test as everyTest, expect } from 'vitest'
import { ZodError, z } from 'zod'
import { asSent } from '../support/adapterOf.js'
import { clientOf } from '../support/clientOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { nameOf, startDatabaseProxy } from '../support/databaseProxy.js'
import { serve } from '../support/httpServer.js'
import { type Answer, rawCall, said } from '../support/rawCall.js'
import type { Authed, Context } from '../support/shop.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'

const db = useDatabase()

/** A final error is answered in its shape by `.errors()`. */
const test = everyTest.skipIf(!proceduresHaveErrors)

class SoldOut extends Error {
  override readonly name = 'SoldOut'
  readonly item = 'tea'
}

/** An application whose errors tell more than tRPC's own: of what they wrap, and of what Zod found. */
const t = initTRPC.context<Context>().create({
  errorFormatter: ({ shape, error, input }) => ({
    ...shape,
    data: {
      ...shape.data,
      cause: error.cause instanceof SoldOut ? { name: error.cause.name, item: error.cause.item } : null,
      zod: error.cause instanceof ZodError ? z.flattenError(error.cause) : null,
      // What arrived, the envelope included: as tRPC gives it to formatters.
      input,
    },
  }),
})
const authed = t.procedure.use(({ next }) => next({ ctx: { user: { id: 'alice' } } }))

function shop(options: { storeError?: (error: TRPCErrorLike) => boolean; maxResultBytes?: number } = {}, url?: string) {
  const idempotency = createIdempotency({
    prisma: url === undefined ? db.prisma : clientOf(url),
    scope: ({ ctx }: { ctx: Authed }) => ctx.user.id,
  })
  const storeError = (error: TRPCErrorLike) => error.code === 'CONFLICT' || error.code === 'BAD_REQUEST'
  const procedure = idempotency.transaction(authed, { storeError, ...options })
  return t.router({
    sell: procedure.mutation(async ({ ctx }) => {
      await db.countRun(ctx.idempotency.key)
      await ctx.tx.order.create({ data: { customer: ctx.idempotency.key, item: 'tea', cents: 1 } })
      throw new TRPCError({ code: 'CONFLICT', message: 'sold out', cause: new SoldOut() })
    }),
    validate: procedure.input(z.object({ cents: z.int() })).mutation(() => 'done'),
    spoil: procedure.mutation(async ({ ctx }) => {
      await db.countRun(ctx.idempotency.key)
      await ctx.tx.$queryRawUnsafe('select 1 / 0').catch(() => undefined)
      throw new TRPCError({ code: 'CONFLICT', message: 'after a query that failed' })
    }),
    crash: procedure.mutation(async ({ ctx }) => {
      await db.countRun(ctx.idempotency.key)
      throw new Error('not final')
    }),
    succeed: procedure.mutation(({ ctx }) => ctx.tx.order.count()),
  })
}

const replayOf = (answer: Answer) => ({ status: answer.status, text: answer.text })
const rowOf = async (key: string) => (await db.keys()).find((row) => row.key === key)
const ordersOf = (key: string) => db.query('select 1 from orders where customer = $1', [key])

test('a final error is stored in the one transaction: its work is undone, its key stays, and every repeat is told the same', async () => {
  const url = await serve(shop())
  const key = v7()
  const first = await rawCall(url, { path: 'sell', key })
  expect(first.status).toBe(409)
  expect(first.error).toMatchObject({
    message: 'sold out',
    code: -32009,
    data: {
      code: 'CONFLICT',
      httpStatus: 409,
      path: 'sell',
      cause: { name: 'SoldOut', item: 'tea' },
      input: { '~idempotency': { key, attempt: 1 } },
      idempotency: { attemptOutcome: 'NOT_EXECUTED', final: true },
    },
  })
  expect(first.error?.data).not.toHaveProperty('stack')
  for (const attempt of [2, 3]) {
    expect(replayOf(await rawCall(url, { path: 'sell', key, attempt }))).toEqual(replayOf(first))
  }
  expect(await db.runs(key)).toBe(1)
  expect(await ordersOf(key)).toEqual([])
  expect(await rowOf(key)).toMatchObject({ status: 'settled', result_kind: 'error', fence: 1, attempts: 1 })
})

test('what Zod found is told the same on every repeat, for an input that the wrapper’s own .input() refuses', async () => {
  const url = await serve(shop())
  const key = v7()
  const call = (attempt: number) => rawCall(url, { path: 'validate', key, attempt, input: { cents: 'many' } })
  const first = await call(1)
  expect(first.status).toBe(400)
  expect(first.error?.data['zod']).toMatchObject({ fieldErrors: { cents: [expect.stringContaining('expected')] } })
  expect(replayOf(await call(1))).toEqual(replayOf(first))
  expect(await rowOf(key)).toMatchObject({ result_kind: 'error' })
})

test('a query that failed before the final error does not keep it from being stored', async () => {
  const url = await serve(shop())
  const key = v7()
  const first = await rawCall(url, { path: 'spoil', key })
  expect(first.error?.message).toBe('after a query that failed')
  expect(replayOf(await rawCall(url, { path: 'spoil', key, attempt: 2 }))).toEqual(replayOf(first))
  expect(await db.runs(key)).toBe(1)
})

test('an error that is not final leaves nothing behind, and the next attempt runs', async () => {
  const url = await serve(shop())
  const key = v7()
  for (const attempt of [1, 2]) {
    expect((await rawCall(url, { path: 'crash', key, attempt })).error?.message).toBe('not final')
  }
  expect(await db.runs(key)).toBe(2)
  expect(await rowOf(key)).toBeUndefined()
})

test('of attempts at once one fails for good, and the others are told the same', async () => {
  const url = await serve(shop())
  const key = v7()
  const answers = await Promise.all(Array.from({ length: 5 }, () => rawCall(url, { path: 'sell', key })))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers[0]?.error?.message).toBe('sold out')
  expect(await db.runs(key)).toBe(1)
})

test('a COMMIT of a final error that is lost is asked about, and the answer is the stored one', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const url = await serve(shop({}, proxy.url))
  await rawCall(url, { path: 'succeed', key: v7() })
  let cuts = 0
  proxy.hook = (flight, moment) => {
    if (moment === 'before' || !nameOf(flight).endsWith('COMMIT') || cuts > 0) return 'pass'
    cuts += 1
    return 'cut'
  }
  const key = v7()
  const first = await rawCall(url, { path: 'sell', key })
  expect(cuts).toBe(1)
  expect(first.error?.message).toBe('sold out')
  expect(replayOf(await rawCall(url, { path: 'sell', key, attempt: 2 }))).toEqual(replayOf(first))
  expect(await db.runs(key)).toBe(1)
})

test('a connection that is lost while a final error is stored: the handler’s error, and nothing is stored', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const url = await serve(shop({}, proxy.url))
  await rawCall(url, { path: 'succeed', key: v7() })
  proxy.hook = (flight) => (nameOf(flight).startsWith('rollback to') ? 'cut' : 'pass')
  const key = v7()
  expect((await rawCall(url, { path: 'sell', key })).error?.message).toBe('sold out')
  expect(await rowOf(key)).toBeUndefined()
  proxy.hook = () => 'pass'
  expect((await rawCall(url, { path: 'sell', key, attempt: 2 })).error?.message).toBe('sold out')
  expect(await db.runs(key)).toBe(2)
  expect(await rowOf(key)).toMatchObject({ result_kind: 'error' })
})

test('the savepoint costs one trip, and only where errors can be stored', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const trips = async (router: ReturnType<typeof shop>) => {
    const url = await serve(router)
    await rawCall(url, { path: 'succeed', key: v7() })
    proxy.forget()
    await rawCall(url, { path: 'succeed', key: v7() })
    return proxy.flights.map(nameOf).map((name) => name.replace(/^SELECT.*/, 'handler'))
  }
  expect(await trips(shop({}, proxy.url))).toEqual(
    asSent(['BEGIN', 'claim', 'savepoint idempotency_work', 'handler', 'settle', 'COMMIT']),
  )
  const never = shop({ storeError: undefined } as object, proxy.url)
  expect(await trips(never)).toEqual(asSent(['BEGIN', 'claim', 'handler', 'settle', 'COMMIT']))
})

test('a final error that is too large to store is one of the transaction: nothing happened', async () => {
  const url = await serve(shop({ maxResultBytes: 100 }))
  const key = v7()
  const answer = await rawCall(url, { path: 'sell', key })
  expect(said(answer)).toEqual({ reason: 'RESULT_TOO_LARGE', attemptOutcome: 'NOT_EXECUTED' })
  expect(await rowOf(key)).toBeUndefined()
})

test('storeError is given to createIdempotency for all procedures, and has to be a function', () => {
  const options = { prisma: db.prisma, scope: () => 'alice' }
  expect(() => createIdempotency({ ...options, storeError: 'CONFLICT' as never })).toThrow(
    "createIdempotency: storeError must be a function from an error to true or false, got 'CONFLICT'",
  )
})

test('a serialization failure is run again, even where every error is said to be final', async () => {
  await db.query("insert into orders (id, customer, item, cents) values (1001, 'other', 'tea', 1)")
  const idempotency = createIdempotency({ prisma: db.prisma, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id })
  let runs = 0
  const router = t.router({
    create: idempotency
      .transaction(authed, { storeError: () => true, isolationLevel: 'RepeatableRead' })
      .mutation(async ({ ctx }) => {
        runs += 1
        await ctx.tx.order.findUnique({ where: { id: 1001 } })
        if (runs === 1) await db.query('update orders set cents = cents + 1 where id = 1001')
        await ctx.tx.order.update({ where: { id: 1001 }, data: { item: 'coffee' } })
        return runs
      }),
  })
  expect((await rawCall(await serve(router), { path: 'create', key: v7() })).data).toBe(2)
})
