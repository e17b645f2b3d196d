import { type inferProcedureInput, type inferRouterOutputs, initTRPC } from '@trpc/server'
import {
  createIdempotency,
  guardClient,
  type IdempotencyContext,
  type RequestHeaders,
  unwrapInput,
  withIdempotencyKey,
} from 'trpc-idempotency/server'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.js'

declare const prisma: PrismaClient

interface Context {
  user: { id: string } | null
  requestId: string
}

const t = initTRPC.context<Context>().meta<{ audit?: boolean }>().create()
const authed = t.procedure.use(({ ctx, next }) => next({ ctx: { user: ctx.user ?? { id: '' }, org: 'o' } }))
const idempotency = createIdempotency({ prisma, scope: ({ ctx }: { ctx: { user: { id: string } } }) => ctx.user.id })
const idempotent = idempotency.transaction(authed)

test('ctx.tx is exactly the application’s own transaction client', () => {
  idempotent.mutation(({ ctx }) => {
    expectTypeOf(ctx.tx).toEqualTypeOf<Prisma.TransactionClient>()
    // @ts-expect-error no such model
    ctx.tx.nope
  })
})

test('ctx.tx of an extended client has its extensions', () => {
  const extended = prisma.$extends({
    model: { order: { tea: (cents: number) => ({ cents }) } },
    result: { order: { price: { needs: { cents: true }, compute: ({ cents }) => `${cents / 100}` } } },
  })
  const wrapped = createIdempotency({ prisma: extended, scope: () => 'all' }).transaction(authed)
  wrapped.mutation(async ({ ctx }) => {
    void extended.$transaction(async (tx) => expectTypeOf(ctx.tx).toEqualTypeOf(tx))
    expectTypeOf(ctx.tx.order.tea(1)).toEqualTypeOf<{ cents: number }>()
    const order = await ctx.tx.order.findFirstOrThrow()
    expectTypeOf(order.price).toEqualTypeOf<string>()
  })
})

test('a guarded client has the models of the one that was given, extensions included, and the same transactions', () => {
  const guarded = guardClient(prisma)
  expectTypeOf(guarded.order).toEqualTypeOf<PrismaClient['order']>()
  expectTypeOf(guarded.$transaction).toEqualTypeOf<PrismaClient['$transaction']>()
  expectTypeOf(guarded.$extends).toEqualTypeOf<PrismaClient['$extends']>()
  // @ts-expect-error no such model
  guarded.nope
  // @ts-expect-error Prisma takes it from every client that is extended
  guarded.$on
  createIdempotency({ prisma: guarded, scope: () => 'all' })
    .transaction(authed)
    .mutation(({ ctx }) => expectTypeOf(ctx.tx).toEqualTypeOf<Prisma.TransactionClient>())
  const extended = prisma.$extends({ model: { order: { tea: (cents: number) => ({ cents }) } } })
  expectTypeOf(guardClient(extended).order.tea(1)).toEqualTypeOf<{ cents: number }>()
  // @ts-expect-error the client of a transaction cannot be extended
  void prisma.$transaction(async (tx) => guardClient(tx))
})

test('earlier keys of ctx stay, with the types that earlier middlewares gave them', () => {
  idempotent.mutation(({ ctx }) => {
    expectTypeOf(ctx.user).toEqualTypeOf<{ id: string }>()
    expectTypeOf(ctx.org).toEqualTypeOf<string>()
    expectTypeOf(ctx.requestId).toEqualTypeOf<string>()
    expectTypeOf(ctx.idempotency).toEqualTypeOf<IdempotencyContext>()
  })
})

test('a procedure whose context lacks what scope needs does not compile', () => {
  // @ts-expect-error ctx.user may be null here
  idempotency.transaction(t.procedure)
  const other = initTRPC.context<{ tenant: string }>().create()
  // @ts-expect-error no ctx.user at all
  idempotency.transaction(other.procedure)
  createIdempotency({ prisma, scope: () => 'all' }).transaction(t.procedure)
})

test('what scope and headers need of the context adds up', () => {
  const both = createIdempotency({
    prisma,
    scope: ({ ctx }: { ctx: { user: { id: string } } }) => ctx.user.id,
    headers: ({ ctx }: { ctx: { req?: { headers: RequestHeaders } } }) => ctx.req?.headers,
  })
  both.transaction(authed)
  const wrong = t.procedure.use(({ next }) => next({ ctx: { user: { id: '' }, req: 'none' } }))
  // @ts-expect-error its ctx.req has no headers
  both.transaction(wrong)
})

test('unwrapInput is a middleware that changes no type', () => {
  const unwrapped = authed.use(unwrapInput).input(z.object({ item: z.string() }))
  idempotency.transaction(unwrapped).mutation(({ ctx, input }) => {
    expectTypeOf(ctx.user).toEqualTypeOf<{ id: string }>()
    expectTypeOf(ctx.org).toEqualTypeOf<string>()
    expectTypeOf(input).toEqualTypeOf<{ item: string }>()
  })
})

test('in lease mode there is no transaction, and recovery points have the types of their results', () => {
  idempotency.lease(authed, { leaseMs: 10_000 }).mutation(async ({ ctx }) => {
    const { recoveryPoint, signal } = ctx.idempotency
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
    const charge = await recoveryPoint('charge', async ({ key, signal: own }) => {
      expectTypeOf(key).toEqualTypeOf<string>()
      expectTypeOf(own).toEqualTypeOf<AbortSignal>()
      return { id: 'ch_1' }
    })
    expectTypeOf(charge).toEqualTypeOf<{ id: string }>()
    const order = await recoveryPoint.tx('record', (tx) => {
      expectTypeOf(tx).toEqualTypeOf<Prisma.TransactionClient>()
      return tx.order.findFirstOrThrow()
    })
    expectTypeOf(order.cents).toEqualTypeOf<number>()
    expectTypeOf(ctx.user).toEqualTypeOf<{ id: string }>()
    // @ts-expect-error no transaction is open in lease mode
    ctx.tx
  })
  // @ts-expect-error ctx.user may be null here
  idempotency.lease(t.procedure)
  // @ts-expect-error an option of transaction mode
  idempotency.lease(authed, { isolationLevel: 'Serializable' })
})

test('inputs and outputs are what they were', () => {
  const router = t.router({
    create: idempotent.input(z.object({ item: z.string() })).mutation(({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ item: string }>()
      return { id: 1, at: new Date() }
    }),
    checked: idempotent
      .meta({ audit: true })
      .input(z.string().transform(Number))
      .output(z.object({ ok: z.boolean() }))
      .mutation(({ input }) => ({ ok: input > 0 })),
    earlier: idempotency.transaction(authed.input(z.object({ n: z.number() }))).mutation(({ input }) => input.n),
  })
  expectTypeOf<inferProcedureInput<(typeof router)['create']>>().toEqualTypeOf<{ item: string }>()
  expectTypeOf<inferProcedureInput<(typeof router)['checked']>>().toEqualTypeOf<string>()
  type Outputs = inferRouterOutputs<typeof router>
  expectTypeOf<Outputs['create']>().toEqualTypeOf<{ id: number; at: string }>()
  expectTypeOf<Outputs['checked']>().toEqualTypeOf<{ ok: boolean }>()
  expectTypeOf<Outputs['earlier']>().toEqualTypeOf<number>()
})

test('withIdempotencyKey keeps the type of the input', () => {
  expectTypeOf(withIdempotencyKey({ item: 'tea' }, 'key')).toEqualTypeOf<{ item: string }>()
  // @ts-expect-error a key is a text
  withIdempotencyKey({ item: 'tea' }, undefined)
})

test('the client given as prisma must be one', () => {
  // @ts-expect-error no $transaction
  createIdempotency({ prisma: {}, scope: () => 'all' })
  // @ts-expect-error scope is required
  createIdempotency({ prisma })
  // @ts-expect-error no such option
  createIdempotency({ prisma, scope: () => 'all', retentionHours: 72 })
})
