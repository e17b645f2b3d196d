import { TRPCError } from '@trpc/server'
import { createIdempotency, type SealFrom, type SharedOptions, sweepOnce } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'

const db = useDatabase()
const storesErrors = test.skipIf(!proceduresHaveErrors)

const SECRET = 'a secret of 32 bytes, for testing'
const NEXT = 'another secret, for the time after'
const HOUR = 3_600_000

beforeEach(() => db.query('truncate idempotency_keys, idempotency_recovery_points, test_runs'))

/** A shop in both modes, whose handlers answer with their input, or fail as it says. */
async function shop(seal: SharedOptions['seal'] = SECRET) {
  const idempotency = shopIdempotency(db.prisma, { seal })
  const router = t.router({
    order: idempotency
      .transaction(authed, proceduresHaveErrors ? { storeError: ({ code }) => code === 'CONFLICT' } : {})
      .input(z.any())
      .mutation(async ({ ctx, input }) => {
        await db.countRun(ctx.idempotency.key)
        if (input === 'sold out') throw new TRPCError({ code: 'CONFLICT', message: 'marker: sold out' })
        return input as unknown
      }),
    pay: idempotency
      .lease(authed)
      .input(z.any())
      .mutation(async ({ ctx, input }) => {
        await db.countRun(ctx.idempotency.key)
        const paid = await ctx.idempotency.recoveryPoint('charge', () => ({ card: 'marker 4242', at: v7() }))
        const nothing = await ctx.idempotency.recoveryPoint.tx('record', async () => undefined)
        if (input === 'fails once' && (await db.runs(ctx.idempotency.key)) === 1) throw new Error('after the charge')
        return { paid, nothing, input: input as unknown }
      }),
  })
  const url = await serve(router)
  const call = (
    path: 'order' | 'pay',
    key: string,
    { input, attempt = 1 }: { input?: unknown; attempt?: number } = {},
  ) => rawCall(url, { path, key, input, attempt })
  return { idempotency, call }
}

async function dump(): Promise<string> {
  const rows = await db.query(
    `select k::text as row from idempotency_keys k union all select p::text from idempotency_recovery_points p`,
  )
  return rows.map(({ row }) => row).join('\n')
}

test('a dump of the tables holds no result, no recovery point and no key that was sent, and replays are the same bytes', async () => {
  const { call } = await shop()
  const calls: ['order' | 'pay', string, unknown][] = [
    ['order', v7(), { name: 'marker', list: [1, 'é'] }],
    ['order', v7(), undefined],
    ['pay', v7(), 'marker'],
  ]
  for (const [path, key, input] of calls) {
    const first = await call(path, key, { input })
    expect(first.status).toBe(200)
    for (const attempt of [1, 2]) expect((await call(path, key, { input, attempt })).text).toBe(first.text)
    expect(await db.runs(key)).toBe(1)
  }
  const text = await dump()
  expect(text).not.toMatch(/marker|4242/)
  for (const [, key] of calls) expect(text).not.toContain(key.slice(15))
  // Nor whether there was a result: that of `undefined` is no NULL.
  expect(await db.query('select count(result)::int as n from idempotency_keys')).toEqual([{ n: 3 }])
  expect(await db.query('select count(result)::int as n from idempotency_recovery_points')).toEqual([{ n: 2 }])
})

storesErrors('a stored error is sealed, and is replayed byte for byte', async () => {
  const { call } = await shop()
  const key = v7()
  const first = await call('order', key, { input: 'sold out' })
  expect(first.error?.message).toBe('marker: sold out')
  expect((await call('order', key, { input: 'sold out', attempt: 2 })).text).toBe(first.text)
  expect(await dump()).not.toContain('marker')
})

test('what was recorded before a failure is opened by the attempt that takes over', async () => {
  const { call } = await shop()
  const key = v7()
  expect((await call('pay', key, { input: 'fails once' })).status).toBe(500)
  const [before] = await db.query('select result from idempotency_recovery_points order by created_at')
  const second = await call('pay', key, { input: 'fails once', attempt: 2 })
  expect(second.data).toMatchObject({ paid: { card: 'marker 4242' }, input: 'fails once' })
  expect(await db.query('select result from idempotency_recovery_points order by created_at')).toContainEqual(before)
})

test('a stored key has the birth of the key that was sent, and is a UUIDv7 of its own for each scope', async () => {
  const idempotency = shopIdempotency(db.prisma, { seal: SECRET })
  const url = await serve(t.router({ create: idempotency.transaction(authed).mutation(() => 'done') }))
  const key = v7()
  for (const user of ['alice', 'bob']) await rawCall(url, { path: 'create', key, user })
  const stored = (await db.keys()).map((row) => row.key)
  expect(new Set(stored).size).toBe(2)
  for (const name of stored) {
    expect(name.slice(0, 14)).toBe(key.slice(0, 14))
    expect(name).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  }
})

test('the same key with another input is still told apart, and equal inputs under two keys have two fingerprints', async () => {
  const { call } = await shop()
  const [one, other] = [v7(), v7()]
  await call('order', one, { input: 'tea' })
  await call('order', other, { input: 'tea' })
  expect(said(await call('order', one, { input: 'coffee' }))).toEqual({
    reason: 'KEY_REUSED',
    attemptOutcome: 'NOT_EXECUTED',
  })
  const fingerprints = (await db.keys()).map(({ fingerprint }) => fingerprint)
  expect(fingerprints.map((bytes) => [bytes.length, bytes[0]])).toEqual([
    [33, 1],
    [33, 1],
  ])
  expect(fingerprints[0]?.equals(fingerprints[1] as Buffer)).toBe(false)
})

test('what is stored opens with WebCrypto, by nothing but its documented form', async () => {
  const { call } = await shop()
  const key = v7()
  await call('order', key, { input: { total: 7 } })
  const [row] = await db.keys()
  expect(row?.result?.slice(0, 8)).toBe('sealed1.')
  const bytes = Buffer.from(row?.result?.slice(8) ?? '', 'base64url')
  const text = (of: string) => new TextEncoder().encode(of)
  const secret = await crypto.subtle.importKey('raw', text(SECRET), 'HKDF', false, ['deriveKey'])
  const aes = await crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt: text(key), info: text('trpc-idempotency result alice') },
    secret,
    { name: 'AES-GCM', length: 256 },
    false,
    ['decrypt'],
  )
  const opened = await crypto.subtle.decrypt(
    { name: 'AES-GCM', iv: bytes.subarray(0, 12), additionalData: text('value') },
    aes,
    bytes.subarray(12),
  )
  expect(new TextDecoder().decode(opened)).toBe('{"total":7}')
})

test.for([
  ['comes from another row', `(select result from idempotency_keys where result <> k.result)`],
  ['was stored in the open', `'{"total":1000000}'`],
  ['was cut short', `left(k.result, 20)`],
  [
    'was changed in one place',
    `overlay(k.result placing case substr(k.result, 40, 1) when 'A' then 'B' else 'A' end from 40)`,
  ],
] as const)('a sealed result that %s is never replayed', async ([, tampered]) => {
  const { call } = await shop()
  const [one, other] = [v7(), v7()]
  await call('order', one, { input: { total: 7 } })
  await call('order', other, { input: { total: 8 } })
  await db.query(`update idempotency_keys k set result = ${tampered}`)
  for (const [key, total] of [[one, 7] as const, [other, 8] as const]) {
    const answer = await call('order', key, { input: { total }, attempt: 2 })
    expect(answer.status).toBe(500)
    expect(said(answer)).toEqual({ reason: 'RESULT_NOT_READABLE', attemptOutcome: 'EXECUTED' })
    expect(await db.runs(key)).toBe(1)
  }
})

test('a result that is made to look like an error is not told', async () => {
  const { call } = await shop()
  const key = v7()
  await call('order', key, { input: { message: 'marker', code: -32000, data: {} } })
  await db.query(`update idempotency_keys set result_kind = 'error'`)
  const answer = await call('order', key, { input: { message: 'marker', code: -32000, data: {} }, attempt: 2 })
  expect(answer.text).not.toContain('marker')
  expect(said(answer)).toEqual({ reason: 'RESULT_NOT_READABLE', attemptOutcome: 'EXECUTED' })
})

test('a recovery point that was sealed for another name is not taken for its record, and nothing runs again', async () => {
  const { call } = await shop()
  const key = v7()
  await call('pay', key, { input: 'fails once' })
  await db.query(
    `update idempotency_recovery_points p set result = (select result from idempotency_recovery_points where name <> p.name)`,
  )
  const answer = await call('pay', key, { input: 'fails once', attempt: 2 })
  expect(said(answer)).toEqual({ reason: 'RESULT_NOT_READABLE', attemptOutcome: 'UNKNOWN' })
})

test('while a secret is replaced, keys born before and after are answered by servers old and new', async () => {
  const now = Date.now()
  const [before, after] = [v7({ msecs: now - HOUR }), v7({ msecs: now + 5 * 60_000 })]
  const old = await shop([{ from: now - 2 * HOUR, secret: SECRET }])
  const both = await shop([
    { from: now, secret: NEXT },
    { from: now - 2 * HOUR, secret: SECRET },
  ])
  const first = await old.call('order', before, { input: 1 })
  expect((await both.call('order', before, { input: 1, attempt: 2 })).text).toBe(first.text)
  await both.call('order', after, { input: 2 })
  expect((await both.call('order', after, { input: 2, attempt: 2 })).data).toBe(2)
  expect([await db.runs(before), await db.runs(after)]).toEqual([1, 1])
  // Once no key of the first secret is good any more, it can go.
  const next = await shop([{ from: now, secret: NEXT }])
  expect((await next.call('order', after, { input: 2, attempt: 2 })).data).toBe(2)
  expect(await db.runs(after)).toBe(1)
})

test('sealing is switched on, and off again, for the keys born from then on', async () => {
  const now = Date.now()
  const births = { open: now - 3 * HOUR, sealed: now - 2 * HOUR, openAgain: now }
  const [open, sealed, openAgain] = Object.values(births).map((msecs) => v7({ msecs })) as [string, string, string]
  const periods: SealFrom[] = [
    { from: births.sealed, secret: SECRET },
    { from: births.openAgain, secret: null },
  ]
  const unsealed = await shop([{ from: 0, secret: null }])
  await unsealed.call('order', open, { input: 'from before' })
  const { call } = await shop(periods)
  for (const key of [sealed, openAgain]) await call('order', key, { input: 'from before' })
  for (const key of [open, sealed, openAgain]) {
    expect((await call('order', key, { input: 'from before', attempt: 2 })).data).toBe('from before')
    expect(await db.runs(key)).toBe(1)
  }
  const stored = await db.query<{ key: string; open: boolean }>(
    `select key, result = '"from before"' as open from idempotency_keys order by key`,
  )
  expect(stored.map((row) => row.open)).toEqual([true, false, true])
  expect([stored[0]?.key, stored[2]?.key]).toEqual([open, openAgain])
})

test('status, resolve, release and forget find a sealed operation by the key that was sent', async () => {
  const { idempotency, call } = await shop()
  const [paid, left] = [v7(), v7()]
  await call('pay', paid, { input: 1 })
  expect(await idempotency.status({ scope: 'alice', key: paid })).toMatchObject({
    status: 'settled',
    as: 'value',
    result: { input: 1 },
  })
  await call('pay', left, { input: 'fails once' })
  await idempotency.release({ scope: 'alice', key: left })
  await idempotency.resolve({ scope: 'alice', key: left, result: 'by hand' })
  expect((await call('pay', left, { input: 'fails once', attempt: 2 })).data).toBe('by hand')
  expect(await idempotency.forget({ scope: 'alice' })).toEqual({ erased: 2, inFlight: 0 })
  expect(said(await call('pay', paid, { input: 1, attempt: 2 }))).toMatchObject({ reason: 'RESULT_ERASED' })
})

test('sealed keys are swept by their birth, and refused from then on', async () => {
  const { idempotency, call } = await shop()
  const key = v7({ msecs: Date.now() - 71 * HOUR })
  await call('order', key, { input: 1 })
  await db.query(
    `update idempotency_watermark set key = $1 || '-ffff-7000-8000-000000000000', raised_at = now() - interval '1 hour'`,
    [key.slice(0, 8)],
  )
  expect(await sweepOnce(idempotency)).toMatchObject({ deleted: 1 })
  expect(said(await call('order', key, { input: 1, attempt: 2 }))).toMatchObject({ reason: 'KEY_TOO_OLD' })
  expect(await db.runs(key)).toBe(1)
  await db.query(`update idempotency_watermark set key = '00000000-0000-7000-8000-000000000000'`)
})

test('a claim that escaped its transaction is removed under its sealed key', async () => {
  // Prisma's recipe for row-level security, but for our own probe: each query in a transaction of its own.
  const escaping = db.prisma.$extends({
    query: {
      $allOperations: ({ args, query }) =>
        db.prisma.$transaction([db.prisma.$queryRaw`select 1`, query(args)]).then(([, end]) => end),
    },
  })
  const idempotency = createIdempotency({ prisma: escaping, scope: () => 'alice', seal: SECRET })
  const url = await serve(t.router({ create: idempotency.transaction(t.procedure).mutation(() => 'done') }))
  expect(said(await rawCall(url, { path: 'create', key: v7() }))).toMatchObject({ reason: 'TRANSACTION_ESCAPED' })
  expect(await db.keys()).toEqual([])
})

test.for([
  [
    'a short secret',
    'short',
    'seal must have a secret of at least 32 bytes, got 5; openssl rand -base64 32 makes a good one',
  ],
  [
    'no secret',
    42,
    'seal must be a secret of text or bytes, or a list of { from, secret }, got a secret of type number',
  ],
  [
    'an empty list',
    [],
    'seal must be a secret, or a list of one { from, secret } at least; leave it out to seal nothing',
  ],
  [
    'a birth in seconds',
    [{ from: 1_790_000_000, secret: SECRET }],
    'seal must say from which birth on, in milliseconds since 1970 as Date.parse gives them, got 1790000000',
  ],
  [
    'two from one birth on',
    [
      { from: 0, secret: SECRET },
      { from: 0, secret: NEXT },
    ],
    'seal has two secrets from 0 on',
  ],
] as const)('%s: the complaint says what is wrong, and holds no secret', ([, seal, complaint]) => {
  const create = () => createIdempotency({ prisma: db.prisma, scope: () => 'all', seal } as never)
  expect(create).toThrow(new TypeError(`createIdempotency: ${complaint}`))
})
