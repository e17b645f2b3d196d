import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { read, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0]

async function shop(handler: (input: unknown, tx: Tx) => unknown, options = {}) {
  const idempotency = shopIdempotency(db.prisma, options)
  const router = t.router({
    create: idempotency
      .transaction(authed)
      .input(z.any())
      .mutation(({ ctx, input }) => handler(input, ctx.tx)),
    leased: idempotency
      .lease(authed)
      .input(z.any())
      .mutation(({ input }) => handler(input, db.prisma)),
  })
  const url = await serve(router)
  /** The input as text: no serializer of a client has its say. */
  return async (input: string, { path = 'create', key = v7() } = {}) => {
    const body = `{"~idempotency":{"key":"${key}","attempt":1},"~input":${input}}`
    const headers = { 'content-type': 'application/json', 'x-user': 'alice' }
    return read(await fetch(`${url}/${path}`, { method: 'POST', headers, body }))
  }
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

test.each([
  ['nests deeper than the stack', nested(100_000)],
  ['holds half of a surrogate pair', '"\\ud800"'],
  ['has such a half in a name', '{"\\udc00":1}'],
])('an input that %s is refused as such, and nothing runs', async (_, input) => {
  let runs = 0
  const call = await shop(() => {
    runs += 1
  })
  for (const path of ['create', 'leased']) {
    const answer = await call(input, { path })
    expect(answer.status).toBe(400)
    expect(said(answer)).toEqual({ reason: 'INPUT_INVALID', attemptOutcome: 'NOT_EXECUTED' })
  }
  expect(runs).toBe(0)
})

test('an input that nests as deeply as one can, and still be compared, is an input', async () => {
  const call = await shop((input) => JSON.stringify(input).length)
  expect((await call(nested(500))).data).toBe(1000)
})

test.each([
  ['create', 'NOT_EXECUTED'],
  ['leased', 'EXECUTED'],
])('a result that nests deeper than the stack cannot be stored: %s', async (path, attemptOutcome) => {
  let runs = 0
  const call = await shop(() => {
    runs += 1
    return JSON.parse(nested(100_000))
  })
  const key = v7()
  expect(said(await call('1', { path, key }))).toEqual({ reason: 'RESULT_NOT_STORABLE', attemptOutcome })
  expect(said(await call('1', { path, key }))).toEqual({ reason: 'RESULT_NOT_STORABLE', attemptOutcome })
  expect(runs).toBe(path === 'create' ? 2 : 1)
})

test('a handler that made its input into what cannot be serialised gets the original when it is run again', async () => {
  const seen: unknown[] = []
  await db.query(`insert into orders (id, customer, item, cents) values (1001, 'stock', 'a', 0)`)
  const call = await shop(
    async (input, tx) => {
      seen.push(structuredClone(input))
      Object.assign(input as object, { late: Promise.resolve(), n: 1n })
      await tx.order.count()
      if (seen.length === 1) await db.query('update orders set cents = cents + 1 where id = 1001')
      await tx.$executeRaw`update orders set cents = cents + 1 where id = 1001`
      return 'done'
    },
    { isolationLevel: 'RepeatableRead' },
  )
  expect((await call('{"item":"tea"}')).data).toBe('done')
  expect(seen).toEqual([{ item: 'tea' }, { item: 'tea' }])
})
