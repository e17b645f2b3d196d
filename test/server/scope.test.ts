import { TRPCError } from '@trpc/server'
import { createIdempotency } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()
const input = { item: 'tea', cents: 350 }

/** A shop whose scope is whatever `scope` gives. */
function shop(label: string, scope: (user: string) => unknown) {
  const idempotency = createIdempotency({
    prisma: db.prisma,
    scope: ({ ctx }: { ctx: { user: { id: string } } }) => scope(ctx.user.id) as string,
  })
  return t.router({
    create: idempotency.transaction(authed).mutation(async ({ ctx }) => {
      await db.countRun(label)
      const { id } = await ctx.tx.order.create({ data: { customer: label, ...input } })
      return { id, for: ctx.user.id }
    }),
  })
}

test('two users with the same key and the same input execute twice, each with a result of its own', async () => {
  const router = t.router({
    create: shopIdempotency(db.prisma)
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
        return `for ${ctx.user.id}`
      }),
  })
  const url = await serve(router)
  const call = { path: 'create', key: v7(), input }
  expect((await rawCall(url, { ...call, user: 'anna' })).data).toBe('for anna')
  expect((await rawCall(url, { ...call, user: 'ben' })).data).toBe('for ben')
  expect((await rawCall(url, { ...call, user: 'anna' })).data).toBe('for anna')
  expect((await db.orders()).map(({ customer }) => customer)).toEqual(['anna', 'ben'])
})

test('the same key in another organisation of the same user executes there', async () => {
  let organisation = 'north'
  const url = await serve(shop('organisations', (user) => `${user}:${organisation}`))
  const call = { path: 'create', key: v7(), input }
  const north = await rawCall(url, call)
  organisation = 'south'
  const south = await rawCall(url, call)
  expect(south.data).not.toEqual(north.data)
  organisation = 'north'
  expect((await rawCall(url, call)).data).toEqual(north.data)
  expect(await db.runs('organisations')).toBe(2)
})

const refused: [string, unknown][] = [
  ['an empty text', ''],
  ['white space', ' \t'],
  ['undefined', undefined],
  ['null', null],
  ['a number', 7],
  ['the text undefined', 'undefined'],
  ['the text null', 'null'],
  ['undefined after a separator', 'org:undefined'],
  ['null before a separator', 'null/user'],
  ['undefined between separators', 'a|undefined|b'],
  ['null between hyphens', 'a-null-b'],
  ['NaN', 'user:NaN'],
  ['an object made into text', `user:${String({})}`],
  ['a text with NUL', 'a\0b'],
  ['half of a surrogate pair', 'a\ud800'],
  ['more than 512 characters', 'x'.repeat(513)],
]

test.each(refused)('a scope that is %s is refused, and nothing runs', async (name, scope) => {
  const label = `scope ${name}`
  const url = await serve(shop(label, () => scope))
  const answer = await rawCall(url, { path: 'create', key: v7(), input })
  expect(answer.status).toBe(401)
  expect(said(answer)).toEqual({ reason: 'SCOPE_MISSING', attemptOutcome: 'NOT_EXECUTED' })
  expect(await db.runs(label)).toBe(0)
})

const accepted = ['Null', 'nullable', 'undefined1', 'user:7', 'ünïcode/東京', 'x'.repeat(512), '😀'.repeat(256)]

test.each(accepted)('the scope %s is accepted', async (scope) => {
  const url = await serve(shop('accepted', () => scope))
  const key = v7()
  expect((await rawCall(url, { path: 'create', key, input })).status).toBe(200)
  expect((await db.keys()).filter((row) => row.key === key).map((row) => row.scope)).toEqual([scope])
})

test('a scope that throws is refused without a word of why to the client, and nothing runs', async () => {
  const url = await serve(
    shop('scope throws', () => {
      throw new Error('session table at 10.1.2.3 is down')
    }),
  )
  const answer = await rawCall(url, { path: 'create', key: v7(), input })
  expect(answer.status).toBe(401)
  expect(said(answer)).toEqual({ reason: 'SCOPE_MISSING', attemptOutcome: 'NOT_EXECUTED' })
  expect(answer.error?.message).not.toContain('10.1.2.3')
  expect(await db.runs('scope throws')).toBe(0)
})

test('a TRPCError of the scope is the application’s own refusal and passes through', async () => {
  const url = await serve(
    shop('scope forbids', () => {
      throw new TRPCError({ code: 'FORBIDDEN', message: 'not your organisation' })
    }),
  )
  const answer = await rawCall(url, { path: 'create', key: v7(), input })
  expect(answer.status).toBe(403)
  expect(answer.error?.message).toBe('not your organisation')
  expect(await db.runs('scope forbids')).toBe(0)
})

test('a scope may be found asynchronously', async () => {
  const url = await serve(shop('async scope', async (user) => `later:${user}`))
  const key = v7()
  expect((await rawCall(url, { path: 'create', key, input })).status).toBe(200)
  expect((await db.keys()).filter((row) => row.key === key).map(({ scope }) => scope)).toEqual(['later:alice'])
})
