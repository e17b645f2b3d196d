import { createIdempotency, type GuardedClient, guardClient, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { describe, expect, test } from 'vitest'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.js'
import { clientOf } from '../support/clientOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { type Authed, authed, t } from '../support/shop.js'

const db = useDatabase()
type Guarded = GuardedClient<PrismaClient>

const order = { item: 'tea', cents: 350 }

/** Whose client `createIdempotency` has: the guarded one that the handler imports too, or the one below it. */
const WIRINGS = [
  ['the guarded client', (guarded: Guarded) => guarded],
  ['the bare one', (_: Guarded, bare: Guarded) => bare],
] as const

function idempotencyOf(prisma: Guarded) {
  return createIdempotency({ prisma, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id })
}

/** A server whose one mutation writes an order for `label` and then does `then`, with the client that its module imports. */
async function shop(
  label: string,
  then: (imported: Guarded, tx: Prisma.TransactionClient) => unknown,
  { wiring = WIRINGS[0][1] as (typeof WIRINGS)[number][1], max = 1 } = {},
) {
  const bare = clientOf(db.url, max)
  const imported = guardClient(bare)
  const router = t.router({
    create: idempotencyOf(wiring(imported, bare))
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        await ctx.tx.order.create({ data: { customer: label, ...order } })
        await then(imported, ctx.tx)
        return 'done'
      }),
  })
  const url = await serve(router)
  const key = v7()
  return { imported, url, call: () => rawCall(url, { path: 'create', key }) }
}

const ordersOf = async (label: string) => (await db.orders()).filter(({ customer }) => customer === label).length

/** Each way to use a root client. */
const USES: Record<string, (prisma: Guarded) => unknown> = {
  'a model': (prisma) => prisma.order.count(),
  'a write': (prisma) => prisma.order.create({ data: { customer: 'past', ...order } }),
  'a chain of models': (prisma) => prisma.idempotencyKey.findFirst({ orderBy: { key: 'asc' } }).recoveryPoints(),
  $queryRaw: (prisma) => prisma.$queryRaw`select 1`,
  $queryRawUnsafe: (prisma) => prisma.$queryRawUnsafe('select 1'),
  $executeRaw: (prisma) => prisma.$executeRaw`select 1`,
  $executeRawUnsafe: (prisma) => prisma.$executeRawUnsafe('select 1'),
  'a transaction of its own': (prisma) => prisma.$transaction(async () => 'empty'),
  'a batch': (prisma) => prisma.$transaction([prisma.order.count()]),
  'a batch of nothing': (prisma) => prisma.$transaction([]),
  'a client that was extended further': (prisma) => prisma.$extends({}).order.count(),
  'a transaction of such a client': (prisma) => prisma.$extends({}).$transaction(async () => 'empty'),
}

describe.each(WIRINGS)('the library has %s', (whose, wiring) => {
  test.each(Object.keys(USES))('%s past ctx.tx, with a pool of one: a clear error at once', async (name) => {
    const label = `${name}, ${whose}`
    let uses = 0
    const { call } = await shop(label, (imported) => (uses++ === 0 ? USES[name]?.(imported) : undefined), { wiring })
    const started = performance.now()
    const answer = await call()
    // Not by the transaction's timeout, which is five seconds.
    expect(performance.now() - started).toBeLessThan(3000)
    expect(answer.status).toBe(500)
    expect(said(answer)).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'NOT_EXECUTED' })
    expect(answer.error?.message).toBe(
      'create: the root client was used while a transaction of the library is open. What it does would not be part of that transaction, and can wait for a connection that the transaction itself holds. Use ctx.tx, and in recoveryPoint.tx the client that it is given.',
    )
    expect(await ordersOf(label)).toBe(0)
    expect(await ordersOf('past')).toBe(0)
    // Nothing is left behind: neither of the key nor in the pool.
    expect((await call()).data).toBe('done')
    expect(await ordersOf(label)).toBe(1)
  })

  test('everything that ctx.tx can do, it does', async () => {
    const label = `all of tx, ${whose}`
    const { call } = await shop(
      label,
      async (_imported, tx) => {
        await tx.order.updateMany({ where: { customer: label }, data: { cents: 1 } })
        await Promise.all([tx.order.count(), tx.$queryRaw`select 1`, tx.$executeRawUnsafe('select 1')])
        await tx.idempotencyKey.create({
          data: {
            ...{ key: v7(), scope: label, procedure: 'x', fingerprint: new Uint8Array([1]), status: 'released' },
            ...{ fence: 1, attempts: 1, claimedAt: new Date() },
            recoveryPoints: { create: { name: 'nested', fence: 1, createdAt: new Date() } },
          },
        })
        expect(await tx.idempotencyKey.findFirst({ where: { scope: label } }).recoveryPoints()).toHaveLength(1)
      },
      { wiring },
    )
    expect((await call()).data).toBe('done')
  })
})

test('a transaction within ctx.tx is no use of the root client, where Prisma has such', async () => {
  const { call } = await shop('within', async (_, tx) => {
    const nested = tx as unknown as Partial<Pick<PrismaClient, '$transaction'>>
    await nested.$transaction?.(async (inner) => inner.order.create({ data: { customer: 'within', ...order } }))
    await nested.$transaction?.([tx.order.count(), tx.$queryRaw`select 1`])
  })
  expect((await call()).data).toBe('done')
})

test.each([
  ['before it was guarded', (bare: Guarded, extension: object) => guardClient(bare.$extends(extension))],
  ['after it was guarded', (bare: Guarded, extension: object) => guardClient(bare).$extends(extension)],
])('a client that was extended %s: its extensions are there, and so is the guard', async (when, extend) => {
  let hooks = 0
  const extended = extend(clientOf(db.url, 1), {
    query: {
      $allOperations({ args, query }: { args: unknown; query(args: unknown): Promise<unknown> }) {
        hooks += 1
        return query(args)
      },
    },
  }) as Guarded
  const router = t.router({
    right: idempotencyOf(extended)
      .transaction(authed)
      .mutation(({ ctx }) => ctx.tx.order.create({ data: { customer: when, ...order } })),
    wrong: idempotencyOf(extended)
      .transaction(authed)
      .mutation(() => extended.order.count()),
  })
  const url = await serve(router)
  expect((await rawCall(url, { path: 'right', key: v7() })).status).toBe(200)
  expect(await ordersOf(when)).toBe(1)
  expect(hooks).toBeGreaterThan(0)
  expect(said(await rawCall(url, { path: 'wrong', key: v7() }))).toMatchObject({ reason: 'TRANSACTION_ESCAPED' })
})

test('the hook of another extension that uses the root client inside ctx.tx is found too', async () => {
  const bare = clientOf(db.url, 1)
  const root = guardClient(bare)
  const extended = root.$extends({
    query: {
      order: {
        async create({ args, query }) {
          await root.payment.count()
          return query(args)
        },
      },
    },
  })
  const router = t.router({
    create: createIdempotency({ prisma: extended, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id })
      .transaction(authed)
      .mutation(({ ctx }) => ctx.tx.order.create({ data: { customer: 'hook', ...order } })),
  })
  const answer = await rawCall(await serve(router), { path: 'create', key: v7() })
  expect(said(answer)).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'NOT_EXECUTED' })
})

test('a use of the root client that the handler only prepared is refused when it runs inside, not before', async () => {
  const prepared = { count: undefined as PromiseLike<number> | undefined }
  const { imported, call } = await shop('prepared', () => prepared.count)
  prepared.count = imported.order.count()
  expect(said(await call())).toMatchObject({ reason: 'TRANSACTION_ESCAPED' })
})

test('what a handler leaves running may use the root client once the handler has ended', async () => {
  let late: Promise<unknown> = Promise.resolve()
  let end: () => void = () => undefined
  const answered = new Promise<void>((resolve) => {
    end = resolve
  })
  const { call } = await shop('left running', (imported) => {
    late = (async () => {
      await answered
      return [await imported.order.count(), await imported.$transaction((tx) => tx.payment.count())]
    })()
  })
  expect((await call()).data).toBe('done')
  end()
  expect(await late).toEqual([expect.any(Number), 0])
})

test('other requests, middlewares, the scope and the code behind a call use the root client meanwhile', async () => {
  const prisma = guardClient(clientOf(db.url, 4))
  const idempotency = createIdempotency({
    prisma,
    scope: async ({ ctx }: { ctx: Authed }) => `${ctx.user.id} ${await prisma.payment.count()}`,
  })
  const counted = authed.use(async ({ next }) => {
    await prisma.order.count()
    const result = await next()
    await prisma.$transaction((tx) => tx.order.count())
    return result
  })
  let inside: () => void = () => undefined
  const isInside = new Promise<void>((resolve) => {
    inside = resolve
  })
  let leave: () => void = () => undefined
  const mayLeave = new Promise<void>((resolve) => {
    leave = resolve
  })
  const router = t.router({
    create: idempotency.transaction(counted).mutation(async ({ ctx }) => {
      inside()
      await mayLeave
      return ctx.tx.order.count()
    }),
    look: t.procedure.mutation(() => prisma.order.count()),
  })
  const url = await serve(router)
  const first = rawCall(url, { path: 'create', key: v7() })
  await isInside
  expect((await rawCall(url, { path: 'look' })).status).toBe(200)
  leave()
  expect((await first).status).toBe(200)
})

test('a mutation that is called inside of another, by a context of its own, is refused before it waits', async () => {
  const idempotency = idempotencyOf(guardClient(clientOf(db.url, 1)))
  const inner = t.router({
    rows: idempotency.transaction(authed).mutation(() => 'rows'),
    outside: idempotency.lease(authed).mutation(() => 'outside'),
  })
  const call = inner.createCaller({ user: { id: 'alice' } })
  const router = t.router({
    rows: idempotency.transaction(authed).mutation(() => call.rows(withIdempotencyKey(undefined, v7()))),
    outside: idempotency.transaction(authed).mutation(() => call.outside(withIdempotencyKey(undefined, v7()))),
  })
  const url = await serve(router)
  for (const path of ['rows', 'outside']) {
    const answer = await rawCall(url, { path, key: v7() })
    expect(said(answer)).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'NOT_EXECUTED' })
    expect(answer.error?.message).toContain('the root client was used while a transaction of the library is open')
  }
})

test('lease mode: a handler uses the root client freely, and inside of recoveryPoint.tx it is refused', async () => {
  const prisma = guardClient(clientOf(db.url, 2))
  const idempotency = idempotencyOf(prisma)
  const router = t.router({
    free: idempotency.lease(authed).mutation(async ({ ctx }) => {
      const { recoveryPoint } = ctx.idempotency
      await recoveryPoint('outside', async () => prisma.order.count())
      await recoveryPoint.tx('record', (tx) => tx.order.create({ data: { customer: 'lease', ...order } }))
      return prisma.$transaction((tx) => tx.order.count({ where: { customer: 'lease' } }))
    }),
    past: idempotency
      .lease(authed)
      .mutation(({ ctx }) => ctx.idempotency.recoveryPoint.tx('record', () => prisma.order.count())),
  })
  const url = await serve(router)
  expect((await rawCall(url, { path: 'free', key: v7() })).data).toBe(1)
  const answer = await rawCall(url, { path: 'past', key: v7() })
  expect(said(answer)).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'UNKNOWN' })
})
