import { v4, v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { post, rawCall, said } from '../support/rawCall.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

function shop() {
  return t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .input(OrderInput)
      .mutation(async ({ ctx, input }) => {
        await db.countRun('keys')
        return ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
      }),
  })
}

const input = { item: 'tea', cents: 350 }

async function expectNothingRan() {
  expect(await db.runs('keys')).toBe(0)
  expect(await db.orders()).toEqual([])
  expect(await db.keys()).toEqual([])
}

test('an idempotent mutation without a key is refused, and nothing runs', async () => {
  const url = await serve(shop())
  const answer = await rawCall(url, { path: 'create', input })
  expect(answer.status).toBe(400)
  expect(said(answer)).toEqual({ reason: 'KEY_MISSING', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).toContain('idempotencyLink')
  await expectNothingRan()
})

const malformed: [string, unknown][] = [
  ['the text "undefined"', 'undefined'],
  ['the text "null"', 'null'],
  ['an empty text', ''],
  ['a number', 7],
  ['null', null],
  ['an object', { toString: 'x' }],
  ['a UUID of version 4', v4()],
  ['a UUIDv7 in upper case', v7().toUpperCase()],
  ['a UUIDv7 with a space', ` ${v7()}`],
  ['a UUIDv7 with a line break', `${v7()}\n`],
  ['a UUIDv7 that a proxy cut short', v7().slice(0, 35)],
  ['a text of 300 characters', 'k'.repeat(300)],
  ['a text with NUL', `${v7().slice(0, 35)}\0`],
  ['letters that are no hexadecimal digits', 'zzzzzzzz-zzzz-7zzz-8zzz-zzzzzzzzzzzz'],
]

test.each(malformed)('a key that is %s is refused, and nothing runs', async (_, key) => {
  const url = await serve(shop())
  const answer = await rawCall(url, { path: 'create', input, key })
  expect(answer.status).toBe(400)
  expect(said(answer)).toEqual({ reason: 'KEY_INVALID', attemptOutcome: 'NOT_EXECUTED' })
  await expectNothingRan()
})

const envelopes: [string, unknown][] = [
  ['is a text', v7()],
  ['is null', null],
  ['has no key', { attempt: 1 }],
  ['has no attempt', { key: v7() }],
  ['has attempt 0', { key: v7(), attempt: 0 }],
  ['has half an attempt', { key: v7(), attempt: 1.5 }],
]

test.each(envelopes)('an envelope that %s is refused, and nothing runs', async (_, envelope) => {
  const url = await serve(shop())
  const answer = await post(`${url}/create`, { '~idempotency': envelope, '~input': input })
  expect(answer.status).toBe(400)
  expect(said(answer)).toEqual({ reason: 'KEY_INVALID', attemptOutcome: 'NOT_EXECUTED' })
  await expectNothingRan()
})

test('a refusal never repeats a long text that stood in the key’s place', async () => {
  const url = await serve(shop())
  const secret = `Bearer ${'s3cret '.repeat(10)}`
  const answer = await rawCall(url, { path: 'create', input, key: secret })
  expect(answer.text).not.toContain('s3cret')
})

test('a mutation that is not idempotent refuses the envelope instead of running unprotected', async () => {
  const router = t.router({
    plain: authed.input(OrderInput).mutation(async () => {
      await db.countRun('keys')
    }),
  })
  const url = await serve(router)
  const answer = await rawCall(url, { path: 'plain', input, key: v7() })
  expect(answer.status).toBe(400)
  await expectNothingRan()
})

test('a query built from an idempotent procedure says that only mutations can be idempotent', async () => {
  const router = t.router({
    look: shopIdempotency(db.prisma)
      .transaction(authed)
      .query(() => 1),
  })
  const url = await serve(router)
  const response = await fetch(`${url}/look`, { headers: { 'x-user': 'alice' } })
  expect(response.status).toBe(500)
  expect(await response.text()).toContain('only mutations can be idempotent')
})
