import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { withIdempotency } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Prisma, PrismaClient } from '../../generated/prisma/client.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type DatabaseProxy, nameOf, startDatabaseProxy } from '../support/databaseProxy.js'
import { serve } from '../support/httpServer.js'
import { byPrisma, disconnect, endPool } from '../support/prismaVersion.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

// What is promised holds with the wrapper as without it: npm run test:wrapper runs the tests with it. These are about the
// wrapper alone.

const db = useDatabase()

type Tx = Prisma.TransactionClient
type Adapter = ConstructorParameters<typeof PrismaClient>[0]['adapter']

/**
 * One connection, so that whatever is left in it is met by the next call. Prisma 6 never gives back one whose COMMIT
 * failed, with the wrapper as without.
 */
const max = byPrisma({ six: 3, seven: 1 })

/** A client that ends with its test. */
function clientWith(adapter: Adapter): PrismaClient {
  const prisma = new PrismaClient({ adapter: adapter as PrismaPg, log: [{ emit: 'event', level: 'query' }] })
  onTestFinished(() => disconnect(prisma))
  return prisma
}

async function shopOn(prisma: PrismaClient, inHandler: (tx: Tx, key: string) => unknown, options = {}) {
  const router = t.router({
    create: shopIdempotency(prisma, options)
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        const { key } = ctx.idempotency
        const { id } = await ctx.tx.order.create({ data: { customer: key, item: 'tea', cents: 1 } })
        await inHandler(ctx.tx, key)
        return id
      }),
  })
  const url = await serve(router)
  return (key: string, attempt = 1) => rawCall(url, { path: 'create', key, attempt })
}

async function shopBehindProxy(inHandler: (tx: Tx, key: string) => unknown, options = {}, prepare = false) {
  // Not every pooler knows of names.
  const proxy = await startDatabaseProxy(prepare ? db.directUrl : db.url)
  const prisma = clientWith(withIdempotency(new PrismaPg({ connectionString: proxy.url, max }), { prepare }))
  const call = await shopOn(prisma, inHandler, options)
  // Prisma's first queries of a model cost more than later ones.
  await call(v7())
  proxy.forget()
  return { proxy, prisma, call }
}

function trips({ flights }: DatabaseProxy): string[] {
  return flights.map(nameOf).map((name) => name.replace(/^INSERT INTO "public"."orders".*/, 'order'))
}

const ordersOf = async (key: string) => (await db.orders()).filter(({ customer }) => customer === key).length
const rowOf = async (key: string) => (await db.keys()).find((row) => row.key === key)

/** The keys whose handlers do what their test is about; all others succeed. */
const spoiled = new Set<string>()

/** Nothing is left of a call, and its one connection serves the next. */
async function expectNothing(key: string, call: (key: string) => Promise<{ status: number }>) {
  expect([await ordersOf(key), await rowOf(key)]).toEqual([0, undefined])
  const next = v7()
  expect((await call(next)).status).toBe(200)
  expect(await ordersOf(next)).toBe(1)
}

test('the claim travels with BEGIN and the settle with COMMIT', async () => {
  const { proxy, call } = await shopBehindProxy(() => undefined)
  const key = v7()
  const answer = await call(key)
  expect(trips(proxy)).toEqual(['BEGIN + claim', 'order', 'settle + COMMIT'])
  expect(await rowOf(key)).toMatchObject({
    status: 'settled',
    result: String(answer.data),
    result_kind: 'value',
    fence: 1,
  })
})

test('an isolation level goes along', async () => {
  const { proxy, call } = await shopBehindProxy(() => undefined, { isolationLevel: 'Serializable' })
  expect((await call(v7())).status).toBe(200)
  expect(trips(proxy)[0]).toBe('BEGIN + SET TRANSACTION ISOLATION LEVEL SERIALIZABLE + claim')
})

test('a claim that is lost is answered from the row, and keeps its connection', async () => {
  const { proxy, call } = await shopBehindProxy(() => undefined)
  const key = v7()
  const first = await call(key)
  proxy.forget()
  expect((await call(key)).text).toBe(first.text)
  expect(trips(proxy)).toEqual(['BEGIN + claim', 'read', 'COMMIT'])
  expect((await call(v7())).status).toBe(200)
})

test('a claim that another transaction holds is given up with its transaction, and its connection goes on', async () => {
  const { call } = await shopBehindProxy(() => undefined, { waitMs: 50, claimWaitMs: 20 })
  const key = v7()
  const holder = await db.connect()
  try {
    await holder.query('begin')
    await holder.query(
      `insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
      values ($1, 'alice', 'create', '\\x01', 'in_flight', 1, 1, now())`,
      [key],
    )
    expect(said(await call(key))).toMatchObject({ reason: 'IN_FLIGHT' })
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  expect((await call(key)).status).toBe(200)
})

test.for([
  ['has deleted the claim', 'delete from idempotency_keys where key = $key'],
  ['has raised its fence', 'update idempotency_keys set fence = 2 where key = $key'],
  ['has rolled back by itself', 'rollback'],
  ['has committed by itself, and gone on in another transaction', 'commit'],
] as const)('a handler that %s: COMMIT is not reached', async ([, statement]) => {
  const { call } = await shopBehindProxy(async (tx, key) => {
    if (spoiled.has(key)) await tx.$executeRawUnsafe(statement.replace('$key', `'${key}'`))
  })
  const key = v7()
  spoiled.add(key)
  expect(said(await call(key))).toEqual({ reason: 'TRANSACTION_ESCAPED', attemptOutcome: 'UNKNOWN' })
  // What the handler has committed by itself nobody can undo.
  if (statement === 'commit') expect(await rowOf(key)).toMatchObject({ status: 'in_flight' })
  else await expectNothing(key, call)
})

test('a handler that swallowed a failed query: the settle fails, COMMIT is not reached, and the connection goes on', async () => {
  const { call } = await shopBehindProxy(async (tx, key) => {
    if (spoiled.has(key)) await tx.$executeRawUnsafe('select 1 / 0').catch(() => undefined)
  })
  const key = v7()
  spoiled.add(key)
  const answer = await call(key)
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).toContain('a query of the handler failed, and the handler went on')
  await expectNothing(key, call)
})

test('a deferred constraint that fails at COMMIT is the handler’s error, and the connection goes on', async () => {
  await db.query('create table deferred (order_id int references orders (id) deferrable initially deferred)')
  const { call } = await shopBehindProxy(async (tx, key) => {
    if (spoiled.has(key)) await tx.$executeRawUnsafe('insert into deferred values (-1)')
  })
  const key = v7()
  spoiled.add(key)
  const answer = await call(key)
  expect([answer.status, said(answer)]).toEqual([500, undefined])
  expect(answer.error?.message).toContain('deferred_order_id_fkey')
  await expectNothing(key, call)
})

test('a handler that takes longer than timeoutMs ends before COMMIT is sent: nothing was executed, and that is known', async () => {
  const { call } = await shopBehindProxy(
    async (tx, key) => {
      if (spoiled.has(key)) await tx.$executeRawUnsafe('select pg_sleep(2)')
    },
    { timeoutMs: 500 },
  )
  const key = v7()
  spoiled.add(key)
  expect(said(await call(key))).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  await expectNothing(key, call)
})

test('what a handler opens by itself takes nothing along', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const prisma = clientWith(withIdempotency(new PrismaPg({ connectionString: proxy.url, max: 2 })))
  const call = await shopOn(prisma, (_, key) =>
    prisma.$transaction((own) => own.order.create({ data: { customer: `own ${key}`, item: 'tea', cents: 1 } })),
  )
  await call(v7())
  proxy.forget()
  const key = v7()
  expect((await call(key)).status).toBe(200)
  expect(trips(proxy)).toEqual(['BEGIN + claim', 'order', 'BEGIN', 'order', 'COMMIT', 'settle + COMMIT'])
  expect(await ordersOf(`own ${key}`)).toBe(1)
})

test('transactions of the application go on as they were, those of attempts at once each with their own claim', async () => {
  const prisma = clientWith(withIdempotency(new PrismaPg({ connectionString: db.url, max: 4 })))
  const call = await shopOn(prisma, () => undefined)
  const keys = Array.from({ length: 30 }, () => v7())
  const own = (key: string) =>
    prisma.$transaction(async (tx) => {
      await tx.order.create({ data: { customer: `app ${key}`, item: 'tea', cents: 1 } })
    })
  const answers = await Promise.all(keys.flatMap((key) => [call(key), own(key), call(key)]))
  expect(answers.filter((answer) => answer !== undefined).map(({ status }) => status)).toEqual(Array(60).fill(200))
  for (const key of keys) expect([await ordersOf(key), await ordersOf(`app ${key}`)]).toEqual([1, 1])
})

test('with a pool of the application’s that pipelines by itself, the same', async () => {
  const pool = new pg.Pool({ connectionString: db.url, max, pipeline: true } as pg.PoolConfig)
  onTestFinished(() => endPool(pool))
  const prisma = clientWith(withIdempotency(new PrismaPg(pool)))
  const call = await shopOn(prisma, async (tx, key) => {
    if (spoiled.has(key)) await tx.$executeRawUnsafe('select 1 / 0').catch(() => undefined)
  })
  const key = v7()
  const first = await call(key)
  expect(first.status).toBe(200)
  expect((await call(key)).text).toBe(first.text)
  expect(await rowOf(key)).toMatchObject({ status: 'settled', result: String(first.data) })
  const bad = v7()
  spoiled.add(bad)
  expect(said(await call(bad))).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  await expectNothing(bad, call)
})

test('an adapter that is not node-postgres’ is left as it is', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const factory = new PrismaPg({ connectionString: proxy.url, max })
  const other = Object.assign(Object.create(factory) as PrismaPg, {
    connect: async () => Object.assign(await factory.connect(), { underlyingDriver: undefined }),
  })
  const call = await shopOn(clientWith(withIdempotency(other)), () => undefined)
  await call(v7())
  proxy.forget()
  expect((await call(v7())).status).toBe(200)
  expect(trips(proxy)).toEqual(['BEGIN', 'claim', 'order', 'settle', 'COMMIT'])
})

test('an adapter that commits by a method of its own takes the claim along, and the settle goes before', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const factory = new PrismaPg({ connectionString: proxy.url, max })
  const other = Object.assign(Object.create(factory) as PrismaPg, {
    async connect() {
      const adapter = await factory.connect()
      const { startTransaction } = adapter
      return Object.assign(adapter, {
        async startTransaction(this: typeof adapter, ...args: Parameters<typeof startTransaction>) {
          const transaction = await startTransaction.apply(this, args)
          const { executeRaw, commit } = transaction
          const plainly = { args: [], argTypes: [] }
          return Object.assign(transaction, {
            options: { usePhantomQuery: true },
            async commit() {
              await executeRaw.call(transaction, { sql: 'COMMIT', ...plainly })
              await commit.call(transaction)
            },
          })
        },
      })
    },
  })
  const call = await shopOn(clientWith(withIdempotency(other)), () => undefined)
  await call(v7())
  proxy.forget()
  const key = v7()
  expect((await call(key)).status).toBe(200)
  expect(trips(proxy)).toEqual(['BEGIN + claim', 'order', 'settle', 'COMMIT'])
  expect(await rowOf(key)).toMatchObject({ status: 'settled' })
})

test('a recovery point in a transaction takes its look at the fence along', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const prisma = clientWith(withIdempotency(new PrismaPg({ connectionString: proxy.url, max })))
  const router = t.router({
    pay: shopIdempotency(prisma)
      .lease(authed)
      .mutation(({ ctx }) =>
        ctx.idempotency.recoveryPoint.tx('record', async (tx) => {
          await tx.order.create({ data: { customer: 'point', item: 'tea', cents: 1 } })
        }),
      ),
  })
  const url = await serve(router)
  expect((await rawCall(url, { path: 'pay', key: v7() })).status).toBe(200)
  expect(trips(proxy).filter((name) => name.startsWith('BEGIN'))).toEqual([
    expect.stringMatching(/^BEGIN \+ with bounds as/),
  ])
  expect(await ordersOf('point')).toBe(1)
})

test('a repeat is asked of the pool, past Prisma, also after the client was disconnected', async () => {
  const { proxy, prisma, call } = await shopBehindProxy(() => undefined)
  const key = v7()
  const first = await call(key)
  const asked: string[] = []
  const { $on } = prisma as unknown as { $on(event: 'query', see: (event: { query: string }) => void): void }
  $on.call(prisma, 'query', ({ query }) => asked.push(query))
  proxy.forget()
  expect((await call(key, 2)).text).toBe(first.text)
  expect(trips(proxy)).toEqual(['read'])
  expect(asked).toEqual([])

  await prisma.$disconnect()
  expect((await call(key, 2)).text).toBe(first.text)
  expect(asked).toHaveLength(1)
})

describe('prepare', () => {
  test('statements of ours are parsed once for each connection', async () => {
    const runs: unknown[] = []
    const { call } = await shopBehindProxy(
      async (tx) => {
        runs.push(
          ...(await tx.$queryRaw<unknown[]>`
            select (generic_plans + custom_plans)::int as runs, count(*)::int as statements from pg_prepared_statements
            where name like 'trpc_idempotency_%' and statement like '%insert into%' group by runs`),
        )
      },
      {},
      true,
    )
    for (const _ of [2, 3]) expect((await call(v7())).status).toBe(200)
    expect(runs).toEqual([1, 2, 3].map((times) => ({ runs: times, statements: 1 })))
  })

  test('a statement that Postgres has forgotten fails its call, with nothing executed, and is parsed again', async () => {
    const { call } = await shopBehindProxy(
      async (tx, key) => {
        if (spoiled.has(key)) await tx.$executeRawUnsafe('deallocate all')
      },
      {},
      true,
    )
    const key = v7()
    spoiled.add(key)
    expect(said(await call(key))).toMatchObject({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
    await expectNothing(key, call)
  })

  test('a claim that is lost, or whose settle fails, leaves the connection as it was', async () => {
    const { proxy, call } = await shopBehindProxy(
      async (tx, key) => {
        if (spoiled.has(key)) await tx.$executeRaw`delete from idempotency_keys where key = ${key}`
      },
      {},
      true,
    )
    const key = v7()
    const first = await call(key)
    expect((await call(key)).text).toBe(first.text)
    const lost = v7()
    spoiled.add(lost)
    expect(said(await call(lost))).toMatchObject({ reason: 'TRANSACTION_ESCAPED' })
    proxy.forget()
    await expectNothing(lost, call)
    expect(trips(proxy)).toEqual(['BEGIN + claim', 'order', 'settle + COMMIT'])
  })
})
