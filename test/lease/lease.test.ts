import { createTRPCClient, httpLink } from '@trpc/client'
import { TRPCError } from '@trpc/server'
import { idempotencyErrorOf } from 'trpc-idempotency/client'
import type { LeaseContext, LeaseOptions } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.js'
import { createBarrier, passBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { charge, startProvider } from '../support/provider.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'
import { type Shop, untyped } from '../support/untypedClient.js'

const db = useDatabase()
const storesErrors = test.skipIf(!proceduresHaveErrors)

type Lease = LeaseContext<Prisma.TransactionClient>

/** A server of one leased mutation that counts its runs and then does what `handle` says. */
async function pay(label: string, handle: (lease: Lease, run: number) => unknown, options: LeaseOptions = {}) {
  const idempotency = shopIdempotency(db.prisma)
  let run = 0
  const create = () =>
    serve(
      t.router({
        pay: idempotency
          .lease(authed, options)
          .input(z.any())
          .mutation(async ({ ctx }) => {
            run += 1
            await db.countRun(label)
            return handle(ctx.idempotency, run)
          }),
      }),
    )
  const url = await create()
  const key = v7()
  const call = (attempt = 1, input: unknown = { cents: 1 }) => rawCall(url, { path: 'pay', key, attempt, input })
  const row = async () => (await db.keys()).find((found) => found.key === key)
  return { idempotency, key, call, row, url }
}

test('a first call executes, is settled under its fence, and its repeat is answered from the row', async () => {
  const { call, row } = await pay('first', () => ({ paid: true }))
  const first = await call()
  expect(first.data).toEqual({ paid: true })
  expect((await call()).text).toBe(first.text)
  expect((await call(2)).text).toBe(first.text)
  expect(await db.runs('first')).toBe(1)
  expect(await row()).toMatchObject({
    status: 'settled',
    result: '{"paid":true}',
    result_kind: 'value',
    fence: 1,
    on_unknown: 'retry',
    attempts: 1,
    lease_expires_at: null,
    settled_at: expect.any(Date),
  })
})

test('the claim is committed before the handler runs, and no transaction is open while it does', async () => {
  const seen: unknown[] = []
  const { key, call } = await pay('committed', async () => {
    seen.push(
      (await db.keys()).filter((row) => row.key === key).map(({ status, fence }) => ({ status, fence })),
      await db.query(
        `select 1 from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`,
      ),
    )
  })
  await call()
  expect(seen).toEqual([[{ status: 'in_flight', fence: 1 }], []])
})

test('the same key with another input is refused while the lease lives, when it is over, and when it is settled', async () => {
  const inside = await createBarrier(1)
  const reused = { reason: 'KEY_REUSED', attemptOutcome: 'NOT_EXECUTED' }
  const { call, key } = await pay('reused', () => passBarrier(inside.url))
  const running = call()
  await inside.allArrived
  expect(said(await call(1, { cents: 2 }))).toEqual(reused)
  // Another process, whose memory knows nothing of it, and a lease that is over: not taken over by another payload.
  const other = await pay('reused elsewhere', () => 'taken')
  const elsewhere = (attempt: number) => rawCall(other.url, { path: 'pay', key, attempt, input: { cents: 2 } })
  expect(said(await elsewhere(1))).toEqual(reused)
  await db.query(`update idempotency_keys set lease_expires_at = now() - interval '1 minute' where key = $1`, [key])
  expect(said(await elsewhere(2))).toEqual(reused)
  inside.open()
  await running
  expect(said(await call(2, { cents: 2 }))).toEqual(reused)
  expect(await db.runs('reused elsewhere')).toBe(0)
})

test('of 50 attempts at once one runs, and the others are given its answer', async () => {
  const { call } = await pay('fifty', () => ({ id: v7() }))
  const answers = await Promise.all(Array.from({ length: 50 }, () => call()))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers[0]?.status).toBe(200)
  expect(await db.runs('fifty')).toBe(1)
})

test('a duplicate that may wait gets the result; one that may wait for less is told IN_FLIGHT', async () => {
  const inside = await createBarrier(1)
  const first = await pay('waits', () => passBarrier(inside.url).then(() => 'paid'))
  const patient = await pay('waits', () => 'never', { waitMs: 20_000 })
  const hasty = await pay('waits', () => 'never', { waitMs: 200 })
  const at = (url: string) => rawCall(url, { path: 'pay', key: first.key, input: { cents: 1 } })
  const running = first.call()
  await inside.allArrived
  const waiting = at(patient.url)
  const told = await at(hasty.url)
  expect(told.status).toBe(409)
  expect(said(told)).toEqual({ reason: 'IN_FLIGHT', attemptOutcome: 'NOT_EXECUTED', retryAfterMs: 1000 })
  inside.open()
  expect([(await running).data, (await waiting).data]).toEqual(['paid', 'paid'])
  expect(await db.runs('waits')).toBe(1)
})

test('with onInFlight: reject a duplicate is told at once for how long the lease lives', async () => {
  const inside = await createBarrier(1)
  const options = { onInFlight: 'reject', leaseMs: 20_000 } as const
  const first = await pay('rejects', () => passBarrier(inside.url).then(() => 'paid'), options)
  const running = first.call()
  await inside.allArrived
  const { retryAfterMs, ...rest } = said(await first.call()) as { retryAfterMs: number }
  expect(rest).toEqual({ reason: 'IN_FLIGHT', attemptOutcome: 'NOT_EXECUTED' })
  expect(retryAfterMs).toBeGreaterThan(15_000)
  expect(retryAfterMs).toBeLessThanOrEqual(20_000)
  inside.open()
  expect((await running).data).toBe('paid')
  expect((await first.call()).data).toBe('paid')
})

test('a definite failure releases the operation: points stay, and the next attempt goes on after them', async () => {
  const provider = await startProvider()
  const { call, row } = await pay('definite', async ({ recoveryPoint }, run) => {
    const paid = await recoveryPoint('charge', ({ key }) => charge(provider.url, key))
    if (run === 1) throw new TRPCError({ code: 'CONFLICT', message: 'address missing' })
    return paid
  })
  const failed = await call()
  expect(failed.status).toBe(409)
  expect(failed.error?.message).toBe('address missing')
  expect(await row()).toMatchObject({ status: 'released', fence: 1, lease_expires_at: null })
  expect((await call(2)).status).toBe(200)
  expect(await row()).toMatchObject({ status: 'settled', fence: 2, attempts: 2 })
  expect(provider.calls).toHaveLength(1)
})

test('a refusal after a recovery point was recorded does not pass for NOT_EXECUTED', async () => {
  const { call, url, key } = await pay('refuses late', async ({ recoveryPoint }, run) => {
    if (run === 1) throw new TRPCError({ code: 'CONFLICT', message: 'before' })
    await recoveryPoint('charge', () => 'charged')
    throw new TRPCError({ code: 'CONFLICT', message: 'after' })
  })
  expect(said(await call())).toBeUndefined()
  expect(said(await call(2))).toEqual({ attemptOutcome: 'UNKNOWN' })
  const client = createTRPCClient<Shop>({
    links: [untyped({ mutations: { pay: true } }), httpLink({ url, headers: { 'x-user': 'alice' } })],
  }) as unknown as { pay: { mutate(input: unknown, options: object): Promise<unknown> } }
  const error: unknown = await client.pay
    .mutate({ cents: 1 }, { context: { idempotencyKey: key } })
    .catch((caught: unknown) => caught)
  expect(idempotencyErrorOf(error)).toEqual({ key, attempts: 1, outcome: 'UNKNOWN', attemptOutcome: 'UNKNOWN' })
})

test('the policy of the row governs, and not that of a later deploy', async () => {
  const { key, call } = await pay(
    'two deploys',
    (_, run) => {
      if (run === 1) throw new TRPCError({ code: 'CONFLICT', message: 'definite' })
    },
    { onUnknown: 'manual' },
  )
  expect((await call()).status).toBe(409)
  const later = await pay(
    'two deploys',
    () => {
      throw new Error('who knows')
    },
    { onUnknown: 'retry' },
  )
  const answer = await rawCall(later.url, { path: 'pay', key, attempt: 2, input: { cents: 1 } })
  expect(said(answer)).toEqual({ reason: 'ABANDONED', attemptOutcome: 'UNKNOWN' })
})

test('an indefinite failure under onUnknown: retry is released, and the retry sends the same derived key', async () => {
  const provider = await startProvider()
  provider.plan = ['lose']
  const { call } = await pay('indefinite', ({ recoveryPoint }) =>
    recoveryPoint('charge', ({ key }) => charge(provider.url, key)),
  )
  expect((await call()).status).toBe(500)
  const paid = await call(2)
  expect(paid.status).toBe(200)
  expect(provider.calls).toHaveLength(2)
  expect(new Set(provider.calls).size).toBe(1)
  expect([...provider.charges.values()]).toEqual([1])
})

test('an indefinite failure under onUnknown: manual is abandoned until an operator says what became of it', async () => {
  const provider = await startProvider()
  provider.plan = ['lose']
  const { call, key, idempotency, row } = await pay(
    'manual',
    ({ recoveryPoint }) => recoveryPoint('charge', ({ key: derived }) => charge(provider.url, derived)),
    { onUnknown: 'manual' },
  )
  const abandoned = { reason: 'ABANDONED', attemptOutcome: 'UNKNOWN' }
  expect(said(await call())).toEqual(abandoned)
  expect(said(await call(2))).toEqual(abandoned)
  expect(await db.runs('manual')).toBe(1)
  await idempotency.resolve({ scope: 'alice', key, result: { charge: 'found by hand' } })
  expect((await call(3)).data).toEqual({ charge: 'found by hand' })
  expect(await row()).toMatchObject({ status: 'settled', fence: 2 })
  expect(provider.calls).toHaveLength(1)
})

test('an operator can also give an abandoned operation back: the next attempt runs under a higher fence', async () => {
  const { call, key, idempotency, row } = await pay(
    'given back',
    (_, run) => {
      if (run === 1) throw new Error('who knows')
      return 'paid'
    },
    { onUnknown: 'manual' },
  )
  expect(said(await call())).toMatchObject({ reason: 'ABANDONED' })
  await idempotency.release({ scope: 'alice', key })
  expect(await row()).toMatchObject({ status: 'released', fence: 2 })
  expect((await call(2)).data).toBe('paid')
  expect(await row()).toMatchObject({ status: 'settled', fence: 3 })
})

test('an operator cannot decide what is settled, unknown, or under a lease that lives', async () => {
  const inside = await createBarrier(1)
  const { call, key, idempotency } = await pay('undecidable', () => passBarrier(inside.url))
  const of = { scope: 'alice', key }
  await expect(idempotency.release(of)).rejects.toThrow('release: nothing was changed: there is no such operation')
  const running = call()
  await inside.allArrived
  await expect(idempotency.resolve({ ...of, result: 1 })).rejects.toThrow('its lease is not over')
  inside.open()
  await running
  await expect(idempotency.release(of)).rejects.toThrow('the operation is settled')
  await expect(idempotency.resolve({ ...of, key: 'x', result: 1 })).rejects.toMatchObject({ reason: 'KEY_INVALID' })
  await expect(idempotency.resolve({ ...of, result: Promise.resolve() })).rejects.toMatchObject({
    reason: 'RESULT_NOT_STORABLE',
  })
})

test('isDefinite decides which errors prove that nothing happened', async () => {
  const { call, row } = await pay(
    'isDefinite',
    () => {
      throw new Error('card declined')
    },
    { onUnknown: 'manual', isDefinite: ({ message }) => message === 'card declined' },
  )
  expect((await call()).error?.message).toBe('card declined')
  expect(await row()).toMatchObject({ status: 'released' })
})

storesErrors('a final error is stored, and every attempt is answered with its very shape', async () => {
  const { call, row } = await pay(
    'final',
    () => {
      throw new TRPCError({ code: 'PAYMENT_REQUIRED', message: 'card declined' })
    },
    { storeError: ({ code }) => code === 'PAYMENT_REQUIRED' },
  )
  const first = await call()
  expect(first.status).toBe(402)
  expect(first.error).toEqual({
    message: 'card declined',
    code: -32002,
    data: {
      code: 'PAYMENT_REQUIRED',
      httpStatus: 402,
      path: 'pay',
      idempotency: { attemptOutcome: 'NOT_EXECUTED', final: true },
    },
  })
  expect((await call()).text).toBe(first.text)
  expect((await call(2)).text).toBe(first.text)
  expect(await db.runs('final')).toBe(1)
  expect(await row()).toMatchObject({ status: 'settled', result_kind: 'error' })
})

test.skipIf(proceduresHaveErrors)('storeError is refused with a tRPC that cannot answer in the stored shape', () => {
  const lease = () => shopIdempotency(db.prisma).lease(authed, { storeError: () => true })
  expect(lease).toThrow(/storeError needs a tRPC whose procedures have \.errors\(\), 11\.22 or later/)
})

test.each([
  ['not storable', { result: { charge: Promise.resolve(1) }, options: {}, reason: 'RESULT_NOT_STORABLE' }],
  ['too large', { result: 'x'.repeat(200), options: { maxResultBytes: 100 }, reason: 'RESULT_TOO_LARGE' }],
] as const)(
  'a result that is %s after the effect: executed, without a result, and never run again',
  async (name, { result, options, reason }) => {
    const { call, row, idempotency, key } = await pay(`tombstone ${name}`, () => result, options)
    for (const attempt of [1, 1, 2]) {
      const answer = await call(attempt)
      expect(answer.status).toBe(500)
      expect(said(answer)).toEqual({ reason, attemptOutcome: 'EXECUTED' })
    }
    expect(await db.runs(`tombstone ${name}`)).toBe(1)
    expect(await row()).toMatchObject({ status: 'settled', result_kind: 'tombstone' })
    expect(await idempotency.status({ scope: 'alice', key })).toEqual({ status: 'settled', as: 'tombstone', reason })
  },
)

test('a handler that takes longer than its lease renews it, and settles', async () => {
  const inside = await createBarrier(1)
  const { call, key, row } = await pay('renews', () => passBarrier(inside.url).then(() => 'paid'), { leaseMs: 600 })
  const running = call()
  await inside.allArrived
  const before = (await row())?.lease_expires_at?.getTime() ?? 0
  await expect.poll(async () => (await row())?.lease_expires_at?.getTime()).toBeGreaterThan(before + 500)
  inside.open()
  expect((await running).data).toBe('paid')
  expect((await db.keys()).find((found) => found.key === key)).toMatchObject({ fence: 1, status: 'settled' })
})

test('without renewal a lease that is over is taken over, and the late holder is answered with the winner’s result', async () => {
  const inside = await createBarrier(1)
  const signals: AbortSignal[] = []
  const { call, row } = await pay(
    'taken over',
    async ({ signal }, run) => {
      signals.push(signal)
      if (run === 1) await passBarrier(inside.url)
      return `run ${run}`
    },
    { leaseMs: 500, renew: false },
  )
  const late = call()
  await inside.allArrived
  const other = await pay('taken over', () => 'run 2', { leaseMs: 500 })
  const taken = await rawCall(other.url, {
    path: 'pay',
    key: (await db.keys()).at(-1)?.key,
    attempt: 2,
    input: { cents: 1 },
  })
  expect(taken.data).toBe('run 2')
  inside.open()
  expect((await late).text).toBe(taken.text)
  expect(await row()).toMatchObject({ fence: 2, result: '"run 2"' })
})

test('a holder whose renewal finds another fence is told by its signal, and answered at once', async () => {
  const inside = await createBarrier(1)
  const told: unknown[] = []
  const { call, key } = await pay(
    'told',
    async ({ signal }) => {
      signal.addEventListener('abort', () => told.push((signal.reason as { reason: string }).reason))
      await passBarrier(inside.url)
    },
    { leaseMs: 600 },
  )
  const running = call()
  await inside.allArrived
  // Another holder, as a takeover leaves the row.
  await db.query(`update idempotency_keys set fence = 7, lease_expires_at = now() + interval '1 hour' where key = $1`, [
    key,
  ])
  // It answers though the handler hangs.
  expect(said(await running)).toEqual({ reason: 'LEASE_LOST', attemptOutcome: 'UNKNOWN' })
  expect(told).toEqual(['LEASE_LOST'])
  inside.open()
})

test.each([
  ['leaseMs', { leaseMs: 0 }, 'lease: leaseMs must be at least 500, got 0'],
  ['leaseMs', { leaseMs: -1 }, 'lease: leaseMs must be at least 500, got -1'],
  ['leaseMs', { leaseMs: Number.NaN }, 'lease: leaseMs must be of type number, got NaN'],
  ['leaseMs', { leaseMs: 499 }, 'lease: leaseMs must be at least 500, got 499'],
  ['leaseMs', { leaseMs: 90_000_000 }, 'lease: leaseMs must be at most 86400000, got 90000000'],
  ['claimWaitMs', { leaseMs: 500, claimWaitMs: 500 }, 'lease: claimWaitMs must be less than leaseMs (500), got 500'],
  ['onInFlight', { onInFlight: 'queue' }, "lease: onInFlight must be one of wait, reject, got 'queue'"],
  ['onUnknown', { onUnknown: 'guess' }, "lease: onUnknown must be one of retry, manual, got 'guess'"],
  ['isDefinite', { isDefinite: true }, 'lease: isDefinite must be a function from an error to true or false, got true'],
  ['an unknown option', { leaseMS: 1 }, 'lease: there is no option leaseMS'],
])(
  '%s is refused when the procedure is defined: the complaint names option, bound and value',
  (_, options, complaint) => {
    expect(() => shopIdempotency(db.prisma).lease(authed, options as never)).toThrow(complaint)
  },
)
