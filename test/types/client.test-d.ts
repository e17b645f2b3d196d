import { createTRPCClient, httpBatchLink, httpBatchStreamLink, httpLink, type Operation } from '@trpc/client'
import { initTRPC, lazy } from '@trpc/server'
import { idempotencyHeaders, idempotencyLink } from 'trpc-idempotency/client'
import { createIdempotency } from 'trpc-idempotency/server'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'

declare const prisma: PrismaClient

const t = initTRPC.context<{ user: string }>().meta<{ audit?: boolean }>().create()
const idempotency = createIdempotency({ prisma, scope: ({ ctx }: { ctx: { user: string } }) => ctx.user })
const idempotent = idempotency.transaction(t.procedure)

const router = t.router({
  order: t.router({
    create: idempotent.input(z.object({ item: z.string() })).mutation(() => ({ id: 1 })),
    nested: { cancel: idempotent.meta({ audit: true }).mutation(() => true) },
    list: t.procedure.query(() => [1]),
  }),
  plain: t.procedure.input(z.string()).mutation(() => 1),
})
type AppRouter = typeof router

const marked = t.router({
  a: idempotent.mutation(() => 1),
  b: idempotency.lease(t.procedure).mutation(() => 1),
  c: t.procedure.query(() => 2),
})
// biome-ignore lint/suspicious/noExplicitAny: what some applications have
const untyped = initTRPC.meta<any>().create()
const anyMeta = untyped.router({ plain: untyped.procedure.mutation(() => 1) })

test('mutations lists exactly the paths that are idempotent on the server', () => {
  idempotencyLink<AppRouter>({ mutations: { 'order.create': true, 'order.nested.cancel': { maxAttempts: 8 } } })
  // @ts-expect-error one is missing
  idempotencyLink<AppRouter>({ mutations: { 'order.create': true } })
  const listed = { 'order.create': true, 'order.nested.cancel': true } as const
  // @ts-expect-error plain is not idempotent: retrying it is what this library exists to prevent
  idempotencyLink<AppRouter>({ mutations: { ...listed, plain: true } })
  // @ts-expect-error a query is no mutation
  idempotencyLink<AppRouter>({ mutations: { 'order.create': true, 'order.nested.cancel': true, 'order.list': true } })
  // @ts-expect-error no such path
  idempotencyLink<AppRouter>({ mutations: { 'order.create': true, 'order.nested.cancel': true, 'order.creat': true } })
})

test('a mutation of a lazy router is listed by its path', () => {
  const orders = t.router({ create: idempotent.mutation(() => 1), plain: t.procedure.mutation(() => 1) })
  const app = t.router({ late: lazy(async () => ({ orders })) })
  idempotencyLink<typeof app>({ mutations: { 'late.create': true } })
  // @ts-expect-error plain is not idempotent
  idempotencyLink<typeof app>({ mutations: { 'late.create': true, 'late.plain': true } })
})

test('idempotencyHeaders fits each HTTP link, and gives its own function what the link tells', () => {
  httpLink({ url: '', headers: idempotencyHeaders() })
  httpBatchLink({ url: '', headers: idempotencyHeaders({ authorization: 'x' }) })
  httpLink({
    url: '',
    headers: idempotencyHeaders(({ op }) => {
      expectTypeOf(op).toEqualTypeOf<Operation>()
      return { authorization: op.path }
    }),
  })
  httpBatchStreamLink({
    url: '',
    headers: idempotencyHeaders(async ({ opList }) => ({ authorization: opList[0].path })),
  })
})

test('mutations: all compiles only when every mutation is idempotent', () => {
  idempotencyLink<typeof marked>({ mutations: 'all' })
  // @ts-expect-error plain is not
  idempotencyLink<AppRouter>({ mutations: 'all' })
})

test('a meta type of any marks nothing', () => {
  // @ts-expect-error its mutation is not idempotent
  idempotencyLink<typeof anyMeta>({ mutations: 'all' })
})

test('options are checked by name and type', () => {
  const mutations = { 'order.create': true, 'order.nested.cancel': true } as const
  // @ts-expect-error false is no way to list a mutation
  idempotencyLink<AppRouter>({ mutations: { ...mutations, 'order.create': false } })
  // @ts-expect-error a number is wanted
  idempotencyLink<AppRouter>({ mutations, maxAttempts: '3' })
  // @ts-expect-error no such option
  idempotencyLink<AppRouter>({ mutations, retries: 3 })
})

test('the link fits a client of its router, and leaves outputs as they were', () => {
  const links = [
    idempotencyLink<AppRouter>({ mutations: { 'order.create': true, 'order.nested.cancel': true } }),
    httpLink({ url: '' }),
  ]
  const client = createTRPCClient<AppRouter>({ links })
  expectTypeOf(client.order.create.mutate).returns.resolves.toEqualTypeOf<{ id: number }>()
})
