import superjson from 'superjson'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'

const db = useDatabase()

/** A server of one mutation in each mode, one operation that was answered, and what became of its row. */
async function answeredOnce(mode: 'transaction' | 'lease', change: string) {
  const idempotency = shopIdempotency(db.prisma, { serializer: superjson })
  const work = () => db.countRun(key)
  const router = t.router({
    create: idempotency[mode](authed)
      .input(z.any())
      .mutation(async () => {
        await work()
        return { id: 7 }
      }),
  })
  const url = await serve(router)
  const key = v7()
  const call = (attempt: number, input: unknown = 'tea') => rawCall(url, { path: 'create', key, attempt, input })
  expect((await call(1)).data).toEqual({ id: 7 })
  await db.query(`update idempotency_keys set ${change} where key = $1`, [key])
  return { key, call, idempotency }
}

const EXECUTED = { reason: 'RESULT_NOT_READABLE', attemptOutcome: 'EXECUTED' }
const UNKNOWN = { reason: 'RESULT_NOT_READABLE', attemptOutcome: 'UNKNOWN' }

const CHANGES: [string, string, object][] = [
  ['a result that is no JSON', `result = 'sold'`, EXECUTED],
  ['a result that is cut short', `result = '{"json":{"id":'`, EXECUTED],
  [
    'a result of another serializer',
    `result = '{"json":{"id":7},"meta":{"values":{"id":["custom","Money"]}}}'`,
    EXECUTED,
  ],
  ['a result whose value is no value of its type', `result = '{"json":"x","meta":{"values":["bigint"]}}'`, EXECUTED],
  ['a tombstone of another reason', `result_kind = 'tombstone', result = 'RESULT_LOST'`, EXECUTED],
  ['an error without a shape', `result_kind = 'error', result = null`, EXECUTED],
  ['an error whose shape is no JSON', `result_kind = 'error', result = 'x'`, UNKNOWN],
  ['an error whose shape is another', `result_kind = 'error', result = '{"message":1}'`, UNKNOWN],
  [
    'an error with a status that no response can have',
    `result_kind = 'error', result = '{"message":"no","code":-32600,"data":{"httpStatus":99999}}'`,
    UNKNOWN,
  ],
  ['a fingerprint of another version', `fingerprint = '\\x02' || substring(fingerprint from 2)`, UNKNOWN],
  ['no fingerprint', `fingerprint = ''`, UNKNOWN],
]

for (const mode of ['transaction', 'lease'] as const) {
  test.each(CHANGES)(`${mode} mode: %s is a clear error, and nothing runs again`, async (_, change, expected) => {
    const { key, call, idempotency } = await answeredOnce(mode, change)
    for (const attempt of [1, 2]) {
      const answer = await call(attempt)
      expect(answer.status).toBe(500)
      expect(said(answer)).toEqual(expected)
      expect(answer.error?.message).toBe(
        'create: what is stored of this operation cannot be read: another version of the library wrote it, or the row was changed by hand. Nothing is run again. Let the version answer that wrote it, or look whether the effect is there.',
      )
    }
    expect(await db.runs(key)).toBe(1)
    if (!change.startsWith('fingerprint')) {
      await expect(idempotency.status({ scope: 'alice', key })).rejects.toMatchObject({ reason: 'RESULT_NOT_READABLE' })
    }
  })

  test(`${mode} mode: of a row that cannot be read, another input learns no more than that the key was used`, async () => {
    const { call } = await answeredOnce(mode, `result = 'sold'`)
    expect(said(await call(1, 'coffee'))).toEqual({ reason: 'KEY_REUSED', attemptOutcome: 'NOT_EXECUTED' })
  })
}

// An older tRPC has no way to answer with a stored shape, and storeError is refused there.
test.runIf(proceduresHaveErrors)(
  'an error that names a code which tRPC does not have is answered in its shape all the same',
  async () => {
    const shape = '{"message":"no","code":-32600,"data":{"code":"constructor","path":"create"}}'
    const { call } = await answeredOnce('transaction', `result_kind = 'error', result = '${shape}'`)
    expect((await call(1)).error).toEqual(JSON.parse(shape))
  },
)

test('a recovery point whose record cannot be read is a clear error, and it does not run again', async () => {
  const key = v7()
  const router = t.router({
    pay: shopIdempotency(db.prisma)
      .lease(authed)
      .mutation(async ({ ctx }) => {
        await ctx.idempotency.recoveryPoint('charge', () => db.countRun(key))
        throw new Error('the next part fails')
      }),
  })
  const url = await serve(router)
  expect(said(await rawCall(url, { path: 'pay', key }))).toEqual({ attemptOutcome: 'UNKNOWN' })
  await db.query(`update idempotency_recovery_points set result = 'x' where key = $1`, [key])
  expect(said(await rawCall(url, { path: 'pay', key, attempt: 2 }))).toEqual(UNKNOWN)
  expect(await db.runs(key)).toBe(1)
})
