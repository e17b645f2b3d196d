import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createBarrier, passBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const REUSED = { reason: 'KEY_REUSED', attemptOutcome: 'NOT_EXECUTED' }

function shop(label: string, inHandler: () => void | Promise<void> = () => undefined) {
  const idempotent = shopIdempotency(db.prisma).transaction(authed)
  return t.router({
    create: idempotent.input(z.any()).mutation(async ({ ctx, input }) => {
      await db.countRun(label)
      await ctx.tx.order.create({ data: { customer: label, item: String(input.items?.[0] ?? 'none'), cents: 1 } })
      await inHandler()
      // What a careless handler does to its input.
      input.items?.push('gift')
      return { secret: `created ${label}` }
    }),
    cancel: idempotent.input(z.any()).mutation(async () => {
      await db.countRun(label)
      return 'cancelled'
    }),
  })
}

test('the same key with another input is refused at once when the first is settled, and says nothing of it', async () => {
  const url = await serve(shop('other input'))
  const key = v7()
  await rawCall(url, { path: 'create', key, input: { items: ['tea'] } })
  const answer = await rawCall(url, { path: 'create', key, input: { items: ['coffee'] } })
  expect(answer.status).toBe(422)
  expect(said(answer)).toEqual(REUSED)
  expect(answer.text).not.toContain('created')
  expect(answer.text).not.toContain('tea')
  expect(await db.runs('other input')).toBe(1)
})

test('the same key on another procedure is refused', async () => {
  const url = await serve(shop('other procedure'))
  const call = { key: v7(), input: { items: ['tea'] } }
  await rawCall(url, { path: 'create', ...call })
  const answer = await rawCall(url, { path: 'cancel', ...call })
  expect(answer.status).toBe(422)
  expect(said(answer)).toEqual(REUSED)
  expect(await db.runs('other procedure')).toBe(1)
})

test('while the first one runs in this process, the same key with another input is refused at once', async () => {
  const inside = await createBarrier(1)
  const url = await serve(shop('running here', () => passBarrier(inside.url)))
  const key = v7()
  const running = rawCall(url, { path: 'create', key, input: { items: ['tea'] } })
  await inside.allArrived
  // The first one is held until after this answer: it cannot have waited for it.
  const answer = await rawCall(url, { path: 'create', key, input: { items: ['coffee'] } })
  expect(said(answer)).toEqual(REUSED)
  inside.open()
  expect((await running).status).toBe(200)
  expect(await db.runs('running here')).toBe(1)
})

test('while the first one runs in another process, it is refused as soon as that one ends', async () => {
  const inside = await createBarrier(1)
  const [first, second] = await Promise.all([
    serve(shop('running there', () => passBarrier(inside.url))),
    serve(shop('running there')),
  ])
  const key = v7()
  const running = rawCall(first, { path: 'create', key, input: { items: ['tea'] } })
  await inside.allArrived
  const refused = rawCall(second, { path: 'create', key, input: { items: ['coffee'] } })
  inside.open()
  expect((await running).status).toBe(200)
  expect(said(await refused)).toEqual(REUSED)
  expect(await db.runs('running there')).toBe(1)
})

test('a handler that changes its input does not turn the repeat into a reuse', async () => {
  const url = await serve(shop('changed input'))
  const call = { path: 'create', key: v7(), input: { items: ['tea'] } }
  const first = await rawCall(url, call)
  const repeat = await rawCall(url, call)
  expect(repeat.text).toBe(first.text)
  expect(await db.runs('changed input')).toBe(1)
})

test('a repeat whose properties come in another order is a repeat', async () => {
  const url = await serve(shop('other order'))
  const key = v7()
  const first = await rawCall(url, { path: 'create', key, input: { items: ['tea'], note: { a: 1, b: 2 } } })
  const repeat = await rawCall(url, { path: 'create', key, input: { note: { b: 2, a: 1 }, items: ['tea'] } })
  expect(repeat.text).toBe(first.text)
  expect(await db.runs('other order')).toBe(1)
})
