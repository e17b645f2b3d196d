import { monitorEventLoopDelay } from 'node:perf_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { v7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { PrismaClient } from '../../generated/prisma/client.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { listen, serve } from '../support/httpServer.js'
import { contextOf } from '../support/httpServerContext.js'
import { disconnect } from '../support/prismaVersion.js'
import { type Answer, rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'
import { batchesAreBounded } from '../support/trpcVersion.js'

const db = useDatabase()

/** A shop on a pool of ten connections: a batch must not need one for each of its calls. */
function shop(options = {}) {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: db.url, max: 10 }) })
  onTestFinished(() => disconnect(prisma))
  return t.router({
    create: shopIdempotency(prisma, options)
      .transaction(authed)
      .input(z.any())
      .mutation(async ({ ctx, input }) => {
        await ctx.tx.order.create({ data: { customer: ctx.user.id, item: String(input?.item), cents: 1 } })
        return { bytes: JSON.stringify(input).length }
      }),
  })
}

const MEGABYTE = 1024 * 1024

const LARGE: [string, unknown][] = [
  ['one text', 'x'.repeat(5 * MEGABYTE)],
  ['a list of numbers', Array.from({ length: 700_000 }, (_, at) => at)],
  ['an object of many names', Object.fromEntries(Array.from({ length: 250_000 }, (_, at) => [`name ${at}`, at]))],
  ['a list of objects', Array.from({ length: 150_000 }, (_, at) => ({ id: at, item: 'tea', cents: 350 }))],
]

test.each(LARGE)('an input of 5 MB that is %s is one operation, in bounded time and memory', async (_, note) => {
  const url = await serve(shop())
  const call = { path: 'create', key: v7(), input: { item: 'large', note }, user: v7() }
  await rawCall(url, { ...call, key: v7(), input: { item: 'small' }, user: v7() })
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  const before = process.memoryUsage().rss
  const first = await rawCall(url, call)
  const second = await rawCall(url, { ...call, attempt: 2 })
  delays.disable()
  expect(first.status).toBe(200)
  expect(second.text).toBe(first.text)
  expect((await db.orders()).filter(({ customer }) => customer === call.user)).toHaveLength(1)
  // The client of this test is in the same process, and the machine may be busy with other tests: what grows faster than
  // the input would take minutes.
  expect(delays.max / 1e9).toBeLessThan(30)
  expect(process.memoryUsage().rss - before).toBeLessThan(1024 * MEGABYTE)
})

test('a server that bounds its bodies refuses a larger one before the library reads it', async () => {
  const url = await listen(
    createHTTPServer({ router: shop(), createContext: ({ req }) => contextOf(req), maxBodySize: MEGABYTE }),
  )
  const answer = await rawCall(url, { path: 'create', key: v7(), input: 'x'.repeat(5 * MEGABYTE) })
  expect(answer.status).toBe(413)
  expect(said(answer)).toBeUndefined()
})

/** Sends so many calls in one request. */
async function batch(url: string, keys: string[], user: string): Promise<Answer['error'][]> {
  const paths = keys.map(() => 'create').join()
  const bodies = keys.map((key, at) => [at, { '~idempotency': { key, attempt: 1 }, '~input': { item: 'tea' } }])
  const response = await fetch(`${url}/${paths}?batch=1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': user },
    body: JSON.stringify(Object.fromEntries(bodies)),
  })
  return [(await response.json()) as Answer | Answer[]].flat().map(({ error }) => error)
}

test('a batch of 1,000 calls on a pool of 10: each is executed or refused clearly, and after retries each is executed once', async () => {
  // Longer than the default, so that a slow machine needs few rounds; a refusal is right as well.
  const url = await serve(shop({ maxWaitMs: 20_000, waitMs: 20_000 }))
  const user = v7()
  const keys = Array.from({ length: 1000 }, () => v7())
  for (let left = keys, round = 0; left.length > 0; round += 1) {
    expect(round).toBeLessThan(10)
    const errors = await batch(url, left, user)
    expect(errors).toHaveLength(left.length)
    for (const error of errors) {
      if (error !== undefined) expect(error.data).toMatchObject({ idempotency: { reason: 'STORE_UNAVAILABLE' } })
    }
    left = left.filter((_, at) => errors[at] !== undefined)
  }
  expect((await db.orders()).filter(({ customer }) => customer === user)).toHaveLength(1000)
  // And once more, all at once: answers, and nothing else.
  expect((await batch(url, keys, user)).filter((error) => error !== undefined)).toEqual([])
  expect((await db.orders()).filter(({ customer }) => customer === user)).toHaveLength(1000)
})

test('a batch of 1,000 calls with one key has one effect', async () => {
  const url = await serve(shop())
  const user = v7()
  const key = v7()
  const errors = await batch(
    url,
    Array.from({ length: 1000 }, () => key),
    user,
  )
  expect(errors.filter((error) => error !== undefined)).toEqual([])
  expect((await db.orders()).filter(({ customer }) => customer === user)).toHaveLength(1)
})

test.runIf(batchesAreBounded)('a server that bounds its batches refuses a larger one as a whole', async () => {
  const url = await listen(
    createHTTPServer({ router: shop(), createContext: ({ req }) => contextOf(req), maxBatchSize: 10 }),
  )
  const user = v7()
  const errors = await batch(
    url,
    Array.from({ length: 11 }, () => v7()),
    user,
  )
  expect(errors.map((error) => error?.data['code'])).toContain('BAD_REQUEST')
  expect((await db.orders()).filter(({ customer }) => customer === user)).toEqual([])
})
