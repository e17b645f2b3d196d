import { createIdempotency, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7, validate, version } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall } from '../support/rawCall.js'
import { type Authed, authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

test('ctx.idempotency says whose operation runs, and at which attempt', async () => {
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .mutation(({ ctx }) => {
        const { key, scope, attempt } = ctx.idempotency
        return { key, scope, attempt, user: ctx.user }
      }),
  })
  const url = await serve(router)
  const key = v7()
  const answer = await rawCall(url, { path: 'create', key, attempt: 3, user: 'anna' })
  expect(answer.data).toEqual({ key, scope: 'anna', attempt: 3, user: { id: 'anna' } })
})

test('a derived key is a UUIDv7 with its parent’s birth, the same in every attempt, and another for each name, key and scope', async () => {
  const seen: string[][] = []
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .mutation(({ ctx }) => {
        seen.push(['charge', 'mail', ''].map((name) => ctx.idempotency.derivedKey(name)))
        if (seen.length === 1) throw new Error('the first attempt fails')
      }),
  })
  const url = await serve(router)
  const [key, other] = [v7(), v7()]
  await rawCall(url, { path: 'create', key })
  await rawCall(url, { path: 'create', key, attempt: 2 })
  await rawCall(url, { path: 'create', key, user: 'ben' })
  await rawCall(url, { path: 'create', key: other })
  expect(seen[1]).toEqual(seen[0])
  expect(new Set(seen.flat()).size).toBe(9)
  for (const derived of seen.flat()) expect([validate(derived), version(derived)]).toEqual([true, 7])
  for (const derived of seen[0] ?? []) expect(derived.slice(0, 13)).toBe(key.slice(0, 13))
  for (const derived of seen[3] ?? []) expect(derived.slice(0, 13)).toBe(other.slice(0, 13))
})

test('a derived key is accepted by another idempotent procedure', async () => {
  const idempotent = shopIdempotency(db.prisma).transaction(authed)
  const router = t.router({
    derive: idempotent.mutation(({ ctx }) => ctx.idempotency.derivedKey('next')),
    next: idempotent.mutation(() => 'done'),
  })
  const url = await serve(router)
  const { data } = await rawCall(url, { path: 'derive', key: v7() })
  expect((await rawCall(url, { path: 'next', key: data })).data).toBe('done')
})

test('in the server’s own process, withIdempotencyKey makes a call idempotent', async () => {
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .input(OrderInput)
      .mutation(async ({ ctx, input }) => {
        await db.countRun('in process')
        return ctx.tx.order.create({ data: { customer: 'in process', ...input }, select: { item: true, cents: true } })
      }),
  })
  const caller = t.createCallerFactory(router)({ user: { id: 'cron' } })
  const input = withIdempotencyKey({ item: 'tea', cents: 350 }, v7())
  const expected = { item: 'tea', cents: 350 }
  expect(await caller.create(input)).toEqual(expected)
  expect(await caller.create(input)).toEqual(expected)
  expect(await db.runs('in process')).toBe(1)
  await expect(caller.create({ item: 'tea', cents: 350 })).rejects.toThrow('needs an idempotency key')
})

test('ctx.tx is what an extended client’s own $transaction hands out', async () => {
  const extended = db.prisma.$extends({
    model: {
      order: {
        async createTea(this: unknown, customer: string) {
          const model = this as { create(args: unknown): Promise<{ id: number; item: string }> }
          return model.create({ data: { customer, item: 'tea', cents: 350 } })
        },
      },
    },
    result: { order: { price: { needs: { cents: true }, compute: ({ cents }) => `${cents / 100} €` } } },
  })
  const idempotency = createIdempotency({ prisma: extended, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id })
  let fail = true
  const router = t.router({
    create: idempotency.transaction(authed).mutation(async ({ ctx }) => {
      await ctx.tx.order.createTea('extended')
      const [order] = await ctx.tx.order.findMany({ where: { customer: 'extended' } })
      if (fail) throw new Error('undo it')
      return order?.price
    }),
  })
  const url = await serve(router)
  const call = { path: 'create', key: v7() }
  expect((await rawCall(url, call)).status).toBe(500)
  expect(await db.orders()).not.toContainEqual({ customer: 'extended', item: 'tea', cents: 350 })
  fail = false
  expect((await rawCall(url, { ...call, attempt: 2 })).data).toBe('3.5 €')
  expect(await db.orders()).toContainEqual({ customer: 'extended', item: 'tea', cents: 350 })
})

test('middlewares after the wrapper see the transaction and the unwrapped input', async () => {
  const seen: unknown[] = []
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .use(async ({ ctx, getRawInput, next }) => {
        seen.push(await getRawInput(), await ctx.tx.order.count())
        return next()
      })
      .input(z.object({ item: z.string() }))
      .mutation(({ input }) => input),
  })
  const url = await serve(router)
  expect((await rawCall(url, { path: 'create', key: v7(), input: { item: 'tea' } })).data).toEqual({ item: 'tea' })
  expect(seen).toEqual([{ item: 'tea' }, expect.any(Number)])
})
