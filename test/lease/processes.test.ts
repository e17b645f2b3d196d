import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { createBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type PayProcessOptions, startPayProcess } from '../support/payProcess.js'
import { type Provider, startProvider } from '../support/provider.js'
import { rawCall, said } from '../support/rawCall.js'
import { shopIdempotency } from '../support/shop.js'

const db = useDatabase()

const input = { item: 'tea', cents: 350 }
const HOUR = 3_600_000
/** Longer than anything here takes: it ends when the test says so, in the database. */
const LONG = { leaseMs: 60_000 }

const leaseEnds = (key: string) =>
  db.query(`update idempotency_keys set lease_expires_at = clock_timestamp() where key = $1`, [key])

function startOn(provider: Provider, options: Partial<PayProcessOptions> = {}) {
  return startPayProcess(db.url, { providerUrl: provider.url, lease: LONG, ...options })
}

async function rowOf(key: string) {
  return (await db.keys()).find((row) => row.key === key)
}

async function everythingOf(key: string) {
  return {
    row: await rowOf(key),
    points: await db.query('select name, result, fence from idempotency_recovery_points where key = $1', [key]),
    orders: await db.orders(),
  }
}

test('50 attempts at once over 4 processes: one charge, one record, one mail, one answer', async () => {
  const provider = await startProvider()
  const processes = await Promise.all(Array.from({ length: 4 }, () => startOn(provider)))
  const call = { path: 'pay', key: v7(), input, user: 'fifty' }
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => rawCall(processes[index % 4]?.url ?? '', call)),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(provider.calls).toHaveLength(2)
  expect((await db.orders()).filter(({ customer }) => customer === 'fifty')).toHaveLength(1)
})

test('a holder that is killed inside its handler: IN_FLIGHT until its lease is over, then a takeover', async () => {
  const provider = await startProvider()
  const inside = await createBarrier(1)
  const lease = { leaseMs: 3000, waitMs: 100 }
  const [holder, other] = await Promise.all([
    startOn(provider, { lease, barrierAfterCharge: inside.url }),
    startOn(provider, { lease }),
  ])
  const call = { path: 'pay', key: v7(), input, user: 'killed' }
  const lost = rawCall(holder.url, call).catch(() => 'lost')
  await inside.allArrived
  await holder.kill()
  expect(await lost).toBe('lost')

  const told = await rawCall(other.url, { ...call, attempt: 2 })
  const { retryAfterMs, ...rest } = said(told) as { retryAfterMs: number }
  expect(rest).toEqual({ reason: 'IN_FLIGHT', attemptOutcome: 'NOT_EXECUTED' })
  expect(retryAfterMs).toBeLessThanOrEqual(3000)
  await expect
    .poll(async () => (await rawCall(other.url, { ...call, attempt: 3 })).status, { timeout: 10_000 })
    .toBe(200)
  expect(await rowOf(call.key)).toMatchObject({ status: 'settled', fence: 2, attempts: 2 })
  // The charge was recorded: it was not asked for again.
  expect(provider.calls).toHaveLength(2)
})

test('onUnknown: manual. A holder that is killed between its outside call and its record is abandoned, until an operator says', async () => {
  const provider = await startProvider()
  const charging = await createBarrier(1)
  let hold = true
  provider.hook = async (_, moment) => {
    if (moment === 'after' && hold) await fetch(charging.url)
  }
  const lease = { ...LONG, onUnknown: 'manual' } as const
  const [holder, other] = await Promise.all([startOn(provider, { lease }), startOn(provider, { lease })])
  const call = { path: 'pay', key: v7(), input, user: 'manual' }
  const lost = rawCall(holder.url, call).catch(() => 'lost')
  await charging.allArrived
  await holder.kill()
  expect(await lost).toBe('lost')
  hold = false
  charging.open()
  await leaseEnds(call.key)

  const answer = await rawCall(other.url, { ...call, attempt: 2 })
  expect(said(answer)).toEqual({ reason: 'ABANDONED', attemptOutcome: 'UNKNOWN' })
  expect(provider.calls).toHaveLength(1)
  await shopIdempotency(db.prisma).resolve({ scope: 'manual', key: call.key, result: { charge: 'found' } })
  expect((await rawCall(other.url, { ...call, attempt: 3 })).data).toEqual({ charge: 'found' })
  expect(provider.calls).toHaveLength(1)
})

test('a holder that is stopped past its lease changes nothing once it goes on', async () => {
  const provider = await startProvider()
  const inside = await createBarrier(1)
  const [holder, other] = await Promise.all([startOn(provider, { barrierAfterCharge: inside.url }), startOn(provider)])
  const call = { path: 'pay', key: v7(), input, user: 'stopped' }
  const late = rawCall(holder.url, call)
  await inside.allArrived
  holder.stop()
  await leaseEnds(call.key)
  const taken = await rawCall(other.url, { ...call, attempt: 2 })
  expect(taken.status).toBe(200)
  const before = await everythingOf(call.key)
  expect(before.row).toMatchObject({ status: 'settled', fence: 2 })

  inside.open()
  holder.resume()
  // It is answered with what the other one stored.
  expect((await late).text).toBe(taken.text)
  expect(await everythingOf(call.key)).toEqual(before)
  expect(provider.calls).toHaveLength(2)
})

test('a stopped holder changes nothing either when the operation was taken over, released, and taken over again', async () => {
  const provider = await startProvider()
  const first = await createBarrier(1)
  const [stopped, failing, last] = await Promise.all([
    startOn(provider, { barrierAfterCharge: first.url }),
    startOn(provider),
    startOn(provider),
  ])
  const call = { path: 'pay', key: v7(), input, user: 'aba' }
  const late = rawCall(stopped.url, call)
  await first.allArrived
  stopped.stop()
  await leaseEnds(call.key)
  // The second holder fails after its takeover, and releases: the mail is refused.
  provider.planFor.set('mail aba', ['refuse'])
  expect((await rawCall(failing.url, { ...call, attempt: 2 })).status).toBe(500)
  expect(await rowOf(call.key)).toMatchObject({ status: 'released', fence: 2 })
  const settled = await rawCall(last.url, { ...call, attempt: 3 })
  expect(settled.status).toBe(200)
  expect(await rowOf(call.key)).toMatchObject({ status: 'settled', fence: 3 })
  const before = await everythingOf(call.key)

  first.open()
  stopped.resume()
  expect((await late).text).toBe(settled.text)
  expect(await everythingOf(call.key)).toEqual(before)
  expect((await db.orders()).filter(({ customer }) => customer === 'aba')).toHaveLength(1)
})

test('a holder that is stopped while its record is about to commit: both race for one row, and there is one', async () => {
  const provider = await startProvider()
  const inRecord = await createBarrier(1)
  // Its lease ends by itself: the open transaction locks the row, so nobody can end it from outside.
  const lease = { leaseMs: 700, timeoutMs: 500, claimWaitMs: 100 }
  const [stopped, other] = await Promise.all([
    startOn(provider, { lease, barrierInRecord: inRecord.url }),
    startOn(provider),
  ])
  const call = { path: 'pay', key: v7(), input, user: 'races' }
  const late = rawCall(stopped.url, call).catch(() => 'lost')
  await inRecord.allArrived
  stopped.stop()
  // Its open transaction locks the row against the takeover, until the database ends it.
  const taken = await rawCall(other.url, { ...call, attempt: 2 })
  expect(taken.status).toBe(200)
  const before = await everythingOf(call.key)
  expect(before.row).toMatchObject({ status: 'settled', fence: 2 })
  expect(before.orders.filter(({ customer }) => customer === 'races')).toHaveLength(1)

  inRecord.open()
  stopped.resume()
  await late
  expect(await everythingOf(call.key)).toEqual(before)
})

test.each([
  ['ahead', HOUR],
  ['behind', -HOUR],
])('a process whose clock is an hour %s neither takes a living lease nor waits for ever', async (name, clockOffMs) => {
  const provider = await startProvider()
  const inside = await createBarrier(1)
  const lease = { ...LONG, waitMs: 200 }
  const [holder, off] = await Promise.all([
    startOn(provider, { lease, barrierAfterCharge: inside.url }),
    startOn(provider, { lease, clockOffMs }),
  ])
  const call = { path: 'pay', key: v7(), input, user: `clock ${name}` }
  const lost = rawCall(holder.url, call).catch(() => 'lost')
  await inside.allArrived
  for (let times = 0; times < 5; times += 1) {
    expect(said(await rawCall(off.url, { ...call, attempt: 2 }))).toMatchObject({ reason: 'IN_FLIGHT' })
  }
  expect(await rowOf(call.key)).toMatchObject({ fence: 1 })
  await holder.kill()
  await lost
  await leaseEnds(call.key)
  expect((await rawCall(off.url, { ...call, attempt: 3 })).status).toBe(200)
  expect(await rowOf(call.key)).toMatchObject({ status: 'settled', fence: 2 })
  // And a process whose clock is off holds a lease of its own like any other.
  expect((await rawCall(off.url, { ...call, key: v7() })).status).toBe(200)
})

test('a client that goes away does not stop a handler that has started: its result is settled', async () => {
  const provider = await startProvider()
  const inside = await createBarrier(1)
  const server = await startOn(provider, { barrierAfterCharge: inside.url })
  const key = v7()
  const controller = new AbortController()
  const call = fetch(`${server.url}/pay`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-user': 'gone' },
    body: JSON.stringify({ '~idempotency': { key, attempt: 1 }, '~input': input }),
    signal: controller.signal,
  })
  await inside.allArrived
  controller.abort()
  await expect(call).rejects.toThrow()
  inside.open()
  await expect.poll(async () => (await rowOf(key))?.status).toBe('settled')
  expect((await rawCall(server.url, { path: 'pay', key, input, user: 'gone', attempt: 2 })).status).toBe(200)
  expect(provider.calls).toHaveLength(2)
})
