import { createIdempotency, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { adapterOf } from '../support/adapterOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { disconnect } from '../support/prismaVersion.js'
import { rawCall, said } from '../support/rawCall.js'
import { type Authed, authed, type Context, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const order = { item: 'tea', cents: 350 }

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0]

/** A server of one mutation that writes an order for `label` and then does `then` with its transaction. */
async function shop(label: string, then: (tx: Tx) => unknown, options = {}) {
  const router = t.router({
    create: shopIdempotency(db.prisma, options)
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        await db.countRun(label)
        await ctx.tx.order.create({ data: { customer: label, ...order } })
        await then(ctx.tx)
        return 'success'
      }),
  })
  const url = await serve(router)
  const key = v7()
  return { key, call: (attempt = 1) => rawCall(url, { path: 'create', key, attempt }) }
}

async function expectNothing(label: string, key: string) {
  expect((await db.orders()).filter(({ customer }) => customer === label)).toEqual([])
  expect((await db.keys()).filter((row) => row.key === key)).toEqual([])
}

/** A statement that fails in Postgres. */
const failing = (tx: Tx) => tx.$executeRaw`select 1 / 0`

test('a database error that the handler swallowed is never answered as success', async () => {
  const { key, call } = await shop('swallowed', (tx) => failing(tx).catch(() => undefined))
  const answer = await call()
  expect(answer.status).toBe(503)
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).toContain('a query of the handler failed, and the handler went on as if it had not')
  await expectNothing('swallowed', key)
})

test('a unique violation that the handler swallowed is never answered as success', async () => {
  await db.query(`insert into orders (id, customer, item, cents) values (901, 'x', 'tea', 1)`)
  const { key, call } = await shop('swallowed unique', (tx) =>
    tx.order.create({ data: { id: 901, customer: 'y', ...order } }).catch(() => undefined),
  )
  expect((await call()).status).toBe(503)
  await expectNothing('swallowed unique', key)
})

test('a swallowed error behind a savepoint is the handler’s own affair', async () => {
  const { call } = await shop('savepoint', async (tx) => {
    await tx.$executeRaw`savepoint mine`
    await failing(tx).catch(() => undefined)
    await tx.$executeRaw`rollback to savepoint mine`
  })
  expect((await call()).data).toBe('success')
})

test('a floating query that fails while the handler returns is never answered as success, 50 times', async () => {
  for (let index = 0; index < 50; index += 1) {
    const label = `floating ${index}`
    const { key, call } = await shop(label, (tx) => void failing(tx).catch(() => undefined))
    expect((await call()).status).toBe(503)
    await expectNothing(label, key)
  }
})

test('a floating operation of several queries, whose last one fails after the settle would have been sent, is waited for', async () => {
  await db.query(`insert into orders (id, customer, item, cents) values (902, 'x', 'tea', 1)`)
  const extended = db.prisma.$extends({
    model: {
      order: {
        async countThenFail(this: unknown) {
          const model = this as { count(): Promise<number>; create(query: object): Promise<unknown> }
          await model.count()
          await model.create({ data: { id: 902, customer: 'y', ...order } })
        },
      },
    },
  })
  const idempotency = createIdempotency({ prisma: extended, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id })
  const router = t.router({
    create: idempotency.transaction(authed).mutation(async ({ ctx }) => {
      await ctx.tx.order.create({ data: { customer: 'several', ...order } })
      void ctx.tx.order.countThenFail().catch(() => undefined)
    }),
  })
  const url = await serve(router)
  for (let times = 0; times < 10; times += 1) {
    const key = v7()
    expect((await rawCall(url, { path: 'create', key })).status).toBe(503)
    await expectNothing('several', key)
  }
})

test('a floating query that succeeds is waited for, and commits with the rest', async () => {
  const { call } = await shop('floating well', (tx) => {
    void tx.order.create({ data: { customer: 'floating well', item: 'cake', cents: 1 } }).then(() => undefined)
  })
  expect((await call()).data).toBe('success')
  const items = (await db.orders()).filter(({ customer }) => customer === 'floating well').map(({ item }) => item)
  expect(items).toEqual(['tea', 'cake'])
})

test('a query that is started after the handler returned is refused, and the answer stands', async () => {
  let late: Promise<PromiseSettledResult<unknown>[]> = Promise.resolve([])
  const { call } = await shop('late', (tx) => {
    const lazy = tx.order.create({ data: { customer: 'late', item: 'lazy', cents: 1 } })
    const returned = new Promise((resolve) => setTimeout(resolve, 0))
    late = Promise.allSettled([
      returned.then(() => tx.order.create({ data: { customer: 'late', item: 'late', cents: 1 } })),
      // Made in time, but nothing runs before somebody waits for it.
      returned.then(() => lazy),
      returned.then(() => tx.$queryRaw`select 1`),
    ])
  })
  // The handler's own await is over in a microtask; the timer fires after the close.
  expect((await call()).data).toBe('success')
  for (const end of await late) {
    expect(end).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringContaining('ctx.tx was used after') },
    })
  }
  expect((await db.orders()).filter(({ customer }) => customer === 'late')).toHaveLength(1)
})

test('a handler that takes longer than timeoutMs: an error with NOT_EXECUTED, no row, and a retry executes', async () => {
  let slow = true
  const { key, call } = await shop('slow', () => slow && new Promise((resolve) => setTimeout(resolve, 600)), {
    timeoutMs: 300,
    claimWaitMs: 100,
  })
  const answer = await call()
  expect(answer.status).toBe(503)
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).toContain('the transaction took longer than timeoutMs (300)')
  await expectNothing('slow', key)
  slow = false
  expect((await call(2)).data).toBe('success')
  expect((await db.orders()).filter(({ customer }) => customer === 'slow')).toHaveLength(1)
})

test('a handler that never returns frees the key in its own process too', async () => {
  let hangs = true
  let tx: Tx | undefined
  const { call } = await shop(
    'hangs',
    (own) => {
      tx = own
      return hangs && new Promise(() => undefined)
    },
    { timeoutMs: 300, claimWaitMs: 100 },
  )
  const answer = await call()
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  // It hangs on, but what it held is closed to it.
  await expect(async () => tx?.order.count()).rejects.toThrow('ctx.tx was used after')
  hangs = false
  expect((await call(2)).data).toBe('success')
  expect((await db.orders()).filter(({ customer }) => customer === 'hangs')).toHaveLength(1)
})

test('an idempotent procedure called from inside another one with its ctx is refused', async () => {
  const idempotent = shopIdempotency(db.prisma).transaction(authed)
  const inner = t.router({ inner: idempotent.mutation(() => db.countRun('inner')) })
  const router = t.router({
    outer: idempotent.mutation(async ({ ctx }) => {
      await ctx.tx.order.create({ data: { customer: 'nested', ...order } })
      await t
        .createCallerFactory(inner)(ctx as Context)
        .inner(withIdempotencyKey(undefined, v7()))
    }),
  })
  const url = await serve(router)
  const key = v7()
  const answer = await rawCall(url, { path: 'outer', key })
  expect(answer.status).toBe(500)
  expect(said(answer)).toEqual({ reason: 'NESTED', attemptOutcome: 'NOT_EXECUTED' })
  expect(await db.runs('inner')).toBe(0)
  await expectNothing('nested', key)
})

test('a procedure that was wrapped twice says so', async () => {
  const idempotency = shopIdempotency(db.prisma)
  const router = t.router({ twice: idempotency.transaction(idempotency.transaction(authed)).mutation(() => 'done') })
  const url = await serve(router)
  expect(said(await rawCall(url, { path: 'twice', key: v7() }))).toEqual({
    reason: 'NESTED',
    attemptOutcome: 'NOT_EXECUTED',
  })
})

// Row-level security as Prisma's own examples do it: each query in a batch of its own, with a setting before it.
const extensions = {
  'every query': (base: PrismaClient) =>
    base.$extends({
      query: {
        async $allOperations({ args, query }) {
          const [, result] = await base.$transaction([
            base.$executeRaw`select set_config('app.user', '1', true)`,
            query(args) as never,
          ])
          return result
        },
      },
    }),
  'the queries of models': (base: PrismaClient) =>
    base.$extends({
      query: {
        $allModels: {
          async $allOperations({ args, query }) {
            const [, result] = await base.$transaction([
              base.$executeRaw`select set_config('app.user', '1', true)`,
              query(args) as never,
            ])
            return result
          },
        },
      },
    }),
}

test.each(Object.entries(extensions))(
  'an extension that moves %s out of the transaction is noticed before the handler runs',
  async (name, extend) => {
    const label = `escaped: ${name}`
    const idempotency = createIdempotency({
      prisma: extend(db.prisma),
      scope: ({ ctx }: { ctx: Authed }) => ctx.user.id,
    })
    const router = t.router({
      create: idempotency.transaction(authed).mutation(async ({ ctx }) => {
        await db.countRun(label)
        await ctx.tx.order.create({ data: { customer: label, ...order } })
      }),
    })
    const url = await serve(router)
    const key = v7()
    for (const attempt of [1, 2]) {
      const answer = await rawCall(url, { path: 'create', key, attempt })
      expect(answer.status).toBe(500)
      expect(said(answer)).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'NOT_EXECUTED' })
    }
    expect(await db.runs(label)).toBe(0)
    await expectNothing(label, key)
  },
)

test('queries that leave the transaction only later are noticed by the settle', async () => {
  let escaping = false
  const sometimes = db.prisma.$extends({
    query: {
      async $allOperations({ args, query }) {
        if (!escaping) return query(args)
        const [, result] = await db.prisma.$transaction([db.prisma.$executeRaw`select 1`, query(args) as never])
        return result
      },
    },
  })
  const idempotency = createIdempotency({ prisma: sometimes, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id })
  const router = t.router({
    create: idempotency.transaction(authed).mutation(async ({ ctx }) => {
      await ctx.tx.order.count()
      return 'done'
    }),
  })
  const url = await serve(router)
  expect((await rawCall(url, { path: 'create', key: v7() })).data).toBe('done')
  escaping = true
  const answer = await rawCall(url, { path: 'create', key: v7() })
  expect(said(answer)).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'UNKNOWN' })
})

test('the store is down: the table is missing, or inserting is forbidden. Nothing runs', async () => {
  const { key, call } = await shop('store down', () => undefined)
  await db.query('alter table idempotency_keys rename to elsewhere')
  const missing = await call()
  await db.query('alter table elsewhere rename to idempotency_keys')
  expect(missing.status).toBe(503)
  expect(said(missing)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  // Not a word of the database's to the client.
  expect(missing.error?.message).not.toContain('idempotency_keys')
  expect(await db.runs('store down')).toBe(0)
  await expectNothing('store down', key)

  const role = `reader_${Math.random().toString(36).slice(2)}`
  await db.query(`create role ${role} login; grant select on all tables in schema public to ${role}`)
  const { PrismaClient: Client } = await import('../../generated/prisma/client.js')
  const asReader = new URL(db.url)
  asReader.username = role
  const reader = new Client({ adapter: adapterOf({ connectionString: asReader.href }) })
  try {
    const router = t.router({
      create: shopIdempotency(reader)
        .transaction(authed)
        .mutation(() => db.countRun('revoked')),
    })
    const url = await serve(router)
    const forbidden = await rawCall(url, { path: 'create', key })
    expect(said(forbidden)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
    expect(await db.runs('revoked')).toBe(0)
  } finally {
    await disconnect(reader)
    await db.query(`drop owned by ${role}; drop role ${role}`)
  }
})
