import { TRPCError } from '@trpc/server'
import { v7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import { adapterOf, withWrapper } from '../support/adapterOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Flight, type Hook, nameOf, startDatabaseProxy } from '../support/databaseProxy.js'
import { serve } from '../support/httpServer.js'
import { disconnect } from '../support/prismaVersion.js'
import { type Answer, rawCall, said } from '../support/rawCall.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const input = { item: 'tea', cents: 350 }

async function shopBehindProxy(label: string, options = {}) {
  const proxy = await startDatabaseProxy(db.url)
  const prisma = new PrismaClient({ adapter: adapterOf({ connectionString: proxy.url, max: 3 }) })
  onTestFinished(() => disconnect(prisma))
  const router = t.router({
    create: shopIdempotency(prisma, options)
      .transaction(authed)
      .input(OrderInput)
      .mutation(async ({ ctx, input: order }) => {
        await db.countRun(label)
        return ctx.tx.order.create({ data: { customer: label, ...order } })
      }),
  })
  const url = await serve(router)
  const key = v7()
  return { proxy, key, call: (attempt = 1): Promise<Answer> => rawCall(url, { path: 'create', key, input, attempt }) }
}

/** Cuts the connection at the first `times` round trips of this name, on this side of the database. */
function cutAt(name: string, where: 'before' | 'after', times = 1): Hook {
  let left = times
  return (flight, moment) => {
    if (moment !== where || !holds(flight, name) || left === 0) return 'pass'
    left -= 1
    return 'cut'
  }
}

function holds(flight: Flight, name: string): boolean {
  return nameOf(flight).split(' + ').includes(name)
}

async function ordersOf(label: string) {
  return (await db.orders()).filter(({ customer }) => customer === label)
}

test('a connection that is lost after COMMIT took effect: the caller gets the stored answer of what it did', async () => {
  const { proxy, call } = await shopBehindProxy('cut after')
  proxy.hook = cutAt('COMMIT', 'after')
  const answer = await call()
  expect(answer.status).toBe(200)
  expect(answer.data).toMatchObject({ customer: 'cut after' })
  expect(await db.runs('cut after')).toBe(1)
  expect(await ordersOf('cut after')).toHaveLength(1)
})

test('a COMMIT went unanswered, and the connection on which it is asked about is lost too: it is asked once more', async () => {
  const { proxy, call } = await shopBehindProxy('lost twice')
  let read = false
  proxy.hook = (flight, moment) => {
    if (moment === 'after' && holds(flight, 'COMMIT')) return 'cut'
    if (moment === 'after' || nameOf(flight) !== 'read' || read) return 'pass'
    read = true
    return 'cut'
  }
  const answer = await call()
  expect(answer.data).toMatchObject({ customer: 'lost twice' })
  expect(read).toBe(true)
  expect(await db.runs('lost twice')).toBe(1)
  expect(await ordersOf('lost twice')).toHaveLength(1)
})

test('a connection that is lost before COMMIT arrived: the transaction is run again, and the caller gets that answer', async () => {
  const { proxy, call, key } = await shopBehindProxy('cut before')
  proxy.hook = cutAt('COMMIT', 'before')
  const answer = await call()
  expect(answer.status).toBe(200)
  expect(await db.runs('cut before')).toBe(2)
  expect(await ordersOf('cut before')).toHaveLength(1)
  const row = (await db.keys()).find((found) => found.key === key)
  expect(JSON.parse(row?.result ?? '')).toEqual(answer.data)
})

test('when the database stays away after a lost COMMIT, the outcome is said to be unknown, and a retry finds the truth', async () => {
  const { proxy, call } = await shopBehindProxy('stays away')
  let away = false
  proxy.hook = (flight, moment) => {
    if (moment === 'after' && holds(flight, 'COMMIT')) away = true
    return away ? 'cut' : 'pass'
  }
  const answer = await call()
  expect(answer.status).toBe(503)
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'UNKNOWN' })
  away = false
  proxy.hook = () => 'pass'
  const retry = await call(2)
  expect(retry.status).toBe(200)
  expect(await db.runs('stays away')).toBe(1)
  expect(await ordersOf('stays away')).toHaveLength(1)
})

test('a COMMIT that is lost every time ends after maxReruns, and its outcome is unknown', async () => {
  const { proxy, call } = await shopBehindProxy('always lost', { maxReruns: 1 })
  proxy.hook = cutAt('COMMIT', 'before', 10)
  const answer = await call()
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'UNKNOWN' })
  expect(await db.runs('always lost')).toBe(2)
  expect(await ordersOf('always lost')).toEqual([])
})

test('once a COMMIT went unanswered, an error of the handler in the rerun does not make the outcome known', async () => {
  const proxy = await startDatabaseProxy(db.url)
  const prisma = new PrismaClient({ adapter: adapterOf({ connectionString: proxy.url, max: 3 }) })
  onTestFinished(() => disconnect(prisma))
  let run = 0
  const router = t.router({
    create: shopIdempotency(prisma)
      .transaction(authed)
      .mutation(() => {
        run += 1
        if (run > 1) throw new TRPCError({ code: 'CONFLICT', message: 'sold out' })
      }),
  })
  const url = await serve(router)
  const call = { path: 'create', key: v7() }
  proxy.hook = cutAt('COMMIT', 'before')
  const answer = await rawCall(url, call)
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'UNKNOWN' })
  // The next attempt has no doubt of its own, and passes the handler's error on.
  expect((await rawCall(url, { ...call, attempt: 2 })).error?.message).toBe('sold out')
})

// A settle that is sent together with COMMIT is lost together with it.
test.each(withWrapper ? ['BEGIN', 'claim'] : ['BEGIN', 'claim', 'settle'])(
  'a connection that is lost at %s: nothing was executed, and the caller is told so',
  async (name) => {
    for (const where of ['before', 'after'] as const) {
      const label = `${name} ${where}`
      const { proxy, call } = await shopBehindProxy(label)
      proxy.hook = cutAt(name, where)
      const answer = await call()
      expect(answer.status).toBe(503)
      expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
      expect(await ordersOf(label)).toEqual([])
      expect((await call(2)).status).toBe(200)
      expect(await ordersOf(label)).toHaveLength(1)
    }
  },
)

test('a deferred constraint that fails at COMMIT is the handler’s error, and nothing is stored', async () => {
  await db.query(`create table deferred (order_id int references orders (id) deferrable initially deferred)`)
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        await db.countRun('deferred')
        await ctx.tx.order.create({ data: { customer: 'deferred', ...input } })
        await ctx.tx.$executeRaw`insert into deferred (order_id) values (-1)`
        return 'looks fine'
      }),
  })
  const url = await serve(router)
  const key = v7()
  const answer = await rawCall(url, { path: 'create', key })
  expect(answer.status).toBe(500)
  expect(said(answer)).toBeUndefined()
  expect(await db.runs('deferred')).toBe(1)
  expect(await ordersOf('deferred')).toEqual([])
  expect((await db.keys()).filter((row) => row.key === key)).toEqual([])
})
