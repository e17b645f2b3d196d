import { v7 } from 'uuid'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0]

beforeAll(async () => {
  await db.query(
    `insert into orders (id, customer, item, cents) values (1001, 'stock', 'a', 0), (1002, 'stock', 'b', 0)`,
  )
})

/** A server of one mutation: in its run number n, counted from 1, it does what `inRun` says and then writes an order. */
async function shop(label: string, inRun: (tx: Tx, run: number) => Promise<unknown>, options = {}) {
  let run = 0
  const router = t.router({
    create: shopIdempotency(db.prisma, options)
      .transaction(authed)
      .input(z.any())
      .mutation(async ({ ctx, input }) => {
        run += 1
        await db.countRun(label)
        const order = await ctx.tx.order.create({
          data: { customer: label, item: JSON.stringify(input ?? null), cents: run },
        })
        input?.items?.push(run)
        await inRun(ctx.tx, run)
        return { run, cents: order.cents }
      }),
  })
  const url = await serve(router)
  const key = v7()
  return { key, call: (input?: unknown) => rawCall(url, { path: 'create', key, input }) }
}

async function ordersOf(label: string) {
  return (await db.orders()).filter(({ customer }) => customer === label)
}

/** Changes a row that the transaction has read, from outside of it. */
const meddle = () => db.query('update orders set cents = cents + 1 where id = 1001')

const ways: [string, (tx: Tx) => Promise<unknown>][] = [
  ['a raw query', (tx) => tx.$executeRaw`update orders set cents = cents + 1 where id = 1001`],
  ['a query of a model', (tx) => tx.order.update({ where: { id: 1001 }, data: { cents: { increment: 1 } } })],
]

test.each(ways)('a serialization failure in %s of the handler runs the transaction again', async (name, update) => {
  const label = `40001 in ${name}`
  const { call } = await shop(
    label,
    async (tx, run) => {
      await tx.order.findUnique({ where: { id: 1001 } })
      if (run === 1) await meddle()
      await update(tx)
    },
    { isolationLevel: 'RepeatableRead' },
  )
  const answer = await call()
  expect(answer.data).toEqual({ run: 2, cents: 2 })
  expect(await db.runs(label)).toBe(2)
  // Nothing of the first run is left.
  expect((await ordersOf(label)).map(({ cents }) => cents)).toEqual([2])
})

test.each(ways)('a deadlock in %s of the handler runs the transaction again', async (name, update) => {
  const label = `40P01 in ${name}`
  const { call } = await shop(label, async (tx, run) => {
    if (run > 1) return
    // Ours looks for a deadlock first, so that it is ours that Postgres ends.
    await tx.$executeRaw`set local deadlock_timeout = '10ms'`
    await tx.$executeRaw`select 1 from orders where id = 1002 for update`
    const other = await db.connect()
    await other.query(`begin; set local deadlock_timeout = '60s'; update orders set cents = 0 where id = 1001`)
    const waiting = other.query('update orders set cents = 0 where id = 1002; commit').finally(() => other.release())
    await Promise.all([update(tx), waiting])
  })
  expect((await call()).data).toEqual({ run: 2, cents: 2 })
  expect((await ordersOf(label)).map(({ cents }) => cents)).toEqual([2])
})

test('a serialization failure at COMMIT runs the transaction again', async () => {
  const label = '40001 at COMMIT'
  const { call } = await shop(
    label,
    async (tx, run) => {
      // Write skew: each of two transactions reads what the other one writes.
      await tx.$queryRaw`select sum(cents) from orders where id in (1001, 1002)`
      if (run === 1) {
        const other = await db.connect()
        await other.query(`begin isolation level serializable; select sum(cents) from orders where id in (1001, 1002)`)
        await tx.$executeRaw`update orders set cents = cents + 1 where id = 1001`
        await other.query('update orders set cents = cents + 1 where id = 1002; commit')
        other.release()
      }
    },
    { isolationLevel: 'Serializable' },
  )
  expect((await call()).data).toEqual({ run: 2, cents: 2 })
  expect((await ordersOf(label)).map(({ cents }) => cents)).toEqual([2])
})

test('a conflict that comes back every time ends after maxReruns, and nothing happened', async () => {
  const label = 'every time'
  const { key, call } = await shop(
    label,
    async (tx) => {
      await tx.order.findUnique({ where: { id: 1001 } })
      await meddle()
      await tx.$executeRaw`update orders set cents = cents + 1 where id = 1001`
    },
    { isolationLevel: 'RepeatableRead', maxReruns: 2 },
  )
  const answer = await call()
  expect(answer.status).toBe(503)
  expect(said(answer)).toEqual({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'NOT_EXECUTED' })
  expect(await db.runs(label)).toBe(3)
  expect(await ordersOf(label)).toEqual([])
  expect((await db.keys()).filter((row) => row.key === key)).toEqual([])
})

test('a handler that is run again gets the input that the caller gave, though its first run changed it', async () => {
  const label = 'changed input'
  const { call } = await shop(
    label,
    async (tx, run) => {
      await tx.order.findUnique({ where: { id: 1001 } })
      if (run === 1) await meddle()
      await tx.$executeRaw`update orders set cents = cents + 1 where id = 1001`
    },
    { isolationLevel: 'RepeatableRead' },
  )
  await call({ items: ['tea'] })
  expect((await ordersOf(label)).map(({ item }) => item)).toEqual(['{"items":["tea"]}'])
})

const levels = ['ReadCommitted', 'RepeatableRead', 'Serializable'] as const

test.each(levels)('under %s: the handler runs at that level', async (isolationLevel) => {
  const seen: unknown[] = []
  const { call } = await shop(
    `level ${isolationLevel}`,
    async (tx) => seen.push(await tx.$queryRaw`show transaction_isolation`),
    {
      isolationLevel,
    },
  )
  await call()
  const name = { ReadCommitted: 'read committed', RepeatableRead: 'repeatable read', Serializable: 'serializable' }
  expect(seen).toEqual([[{ transaction_isolation: name[isolationLevel] }]])
})

test.each(levels)(
  'under %s: of attempts at once that share no memory one runs, and the others replay',
  async (isolationLevel) => {
    const label = `race ${isolationLevel}`
    const count = 12
    let arrived = 0
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const scope = async () => {
      arrived += 1
      if (arrived === count) open()
      await gate
      return 'all'
    }
    const urls = await Promise.all(
      Array.from({ length: count }, () =>
        serve(
          t.router({
            create: shopIdempotency(db.prisma, { isolationLevel, scope } as object)
              .transaction(authed)
              .mutation(async ({ ctx }) => {
                await db.countRun(label)
                return ctx.tx.order.create({ data: { customer: label, item: 'tea', cents: 1 } })
              }),
          }),
        ),
      ),
    )
    const key = v7()
    const answers = await Promise.all(urls.map((url) => rawCall(url, { path: 'create', key })))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(await db.runs(label)).toBe(1)
    expect(await ordersOf(label)).toHaveLength(1)
  },
)

test.each(levels)(
  'under %s: a handler that fails leaves nothing, the next attempt runs, and a repeat replays',
  async (isolationLevel) => {
    const label = `fails ${isolationLevel}`
    const { key, call } = await shop(
      label,
      async (_, run) => {
        if (run === 1) throw new Error('the first one fails')
      },
      { isolationLevel },
    )
    expect((await call()).status).toBe(500)
    expect(await ordersOf(label)).toEqual([])
    const second = await call()
    expect(second.data).toEqual({ run: 2, cents: 2 })
    expect((await call()).text).toBe(second.text)
    expect((await ordersOf(label)).map(({ cents }) => cents)).toEqual([2])
    expect((await db.keys()).filter((row) => row.key === key)).toHaveLength(1)
  },
)
