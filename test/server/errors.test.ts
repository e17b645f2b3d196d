import { createTRPCClient, httpBatchLink, httpLink } from '@trpc/client'
import { initTRPC, TRPCError } from '@trpc/server'
import { idempotencyErrorOf, idempotencyLink } from 'trpc-idempotency/client'
import { IdempotencyError, isIdempotencyError } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, type Context, OrderInput, shopIdempotency, t } from '../support/shop.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'

const db = useDatabase()
const input = { item: 'tea', cents: 350 }

test.each([
  ['httpLink', httpLink],
  ['httpBatchLink', httpBatchLink],
] as const)('what the server said reaches the client over %s', async (_, endingLink) => {
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .input(OrderInput)
      .mutation(() => 'done'),
  })
  const url = await serve(router)
  const client = createTRPCClient<typeof router>({
    links: [
      idempotencyLink<typeof router>({ mutations: { create: true } }),
      endingLink({ url, headers: { 'x-user': 'alice' } }),
    ],
  })
  const context = { idempotencyKey: v7() }
  await client.create.mutate(input, { context })
  const error: unknown = await client.create.mutate({ ...input, cents: 1 }, { context }).catch((e: unknown) => e)
  expect(idempotencyErrorOf(error)).toEqual({
    key: context.idempotencyKey,
    attempts: 1,
    outcome: 'NOT_EXECUTED',
    attemptOutcome: 'NOT_EXECUTED',
    reason: 'KEY_REUSED',
  })
})

test('the router’s own error formatter has its say, and ours is added', async () => {
  const formatted = initTRPC.context<Context>().create({
    errorFormatter: ({ shape, error }) => {
      const cause = (error.cause as Error | undefined)?.name ?? null
      return endOfErrorFormatter({ shape: { ...shape, data: { ...shape.data, requestId: 'r-1', cause } }, error })
    },
  })
  const procedure = formatted.procedure.use(({ next }) => next({ ctx: { user: { id: 'x' } } }))
  const router = formatted.router({
    create: shopIdempotency(db.prisma)
      .transaction(procedure)
      .mutation(() => {
        throw new TRPCError({ code: 'CONFLICT', message: 'sold out' })
      }),
  })
  const url = await serve(router)
  const refused = await rawCall(url, { path: 'create', input: {} })
  expect(refused.error?.data).toMatchObject({
    code: 'BAD_REQUEST',
    httpStatus: 400,
    path: 'create',
    requestId: 'r-1',
    cause: 'IdempotencyError',
    idempotency: { reason: 'KEY_MISSING', attemptOutcome: 'NOT_EXECUTED' },
  })
  // An error of the handler is formatted by the application alone.
  const handlers = await rawCall(url, { path: 'create', key: v7() })
  expect(handlers.error?.message).toBe('sold out')
  expect(handlers.error?.data).toMatchObject({ code: 'CONFLICT', requestId: 'r-1' })
  expect(said(handlers)).toBeUndefined()
})

test('an error formatter and a log hook find the IdempotencyError as the cause', async () => {
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .mutation(() => 'done'),
  })
  const error: unknown = await t
    .createCallerFactory(router)({ user: { id: 'x' } })
    .create()
    .catch((e: unknown) => e)
  expect(error).toBeInstanceOf(TRPCError)
  const { cause } = error as TRPCError
  expect(cause).toBeInstanceOf(IdempotencyError)
  expect(isIdempotencyError(cause)).toBe(true)
  expect(isIdempotencyError(new Error('x'))).toBe(false)
})

test('a handler’s failed query is the handler’s own error, never a key collision', async () => {
  await db.query("insert into orders (id, customer, item, cents) values (900, 'x', 'tea', 1)")
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .mutation(({ ctx }) => ctx.tx.order.create({ data: { id: 900, customer: 'y', item: 'tea', cents: 1 } })),
  })
  const url = await serve(router)
  const answer = await rawCall(url, { path: 'create', key: v7() })
  expect(answer.status).toBe(500)
  expect(said(answer)).toBeUndefined()
  expect(answer.error?.message).toContain('Unique constraint')
})
