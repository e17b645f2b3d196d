import { expect, test } from 'vitest'
import type { Fence, OnUnknown, Operation } from '../../server/engine/record.js'
import type { Held } from '../../server/store/leaseStore.js'
import { endLease, held, newOperation, otherPayload, settled, storesOn, TERMS } from '../support/store/contract.js'
import { useStore } from '../support/store/useStore.js'

const store = useStore()

/** Claims for lease mode, and has to win. */
async function claimed(operation: Operation, onUnknown: OnUnknown = 'retry'): Promise<Held> {
  const claim = await storesOn(store).leases.claim(operation, 1, { ...TERMS, onUnknown })
  if (claim.kind !== 'won') throw new Error(`the claim was ${claim.kind}`)
  return { operation, fence: claim.fence }
}

test('a claim of lease mode is committed at once, with its lease and its policy', async () => {
  const { leases } = storesOn(store)
  const operation = newOperation()
  expect(await leases.claim(operation, 4, { ...TERMS, onUnknown: 'manual' })).toEqual({
    kind: 'won',
    fence: 1,
    onUnknown: 'manual',
  })
  const found = await leases.read(operation)
  expect(found).toMatchObject({ status: 'in flight', fence: 1, onUnknown: 'manual' })
  if (found.status !== 'in flight') throw new Error('it is not in flight')
  expect(found.leaseLeftMs).toBeGreaterThan(TERMS.leaseMs - 60_000)
  expect(found.leaseLeftMs).toBeLessThanOrEqual(TERMS.leaseMs)
  expect(await store.query(`select attempts, procedure from ${store.tables.keys}`)).toEqual([
    { attempts: 4, procedure: 'pay' },
  ])
})

test('of 20 claims of lease mode at once one is won', async () => {
  const operation = newOperation()
  const { leases } = storesOn(store)
  const claims = await Promise.all(Array.from({ length: 20 }, () => leases.claim(operation, 1, TERMS)))
  expect(claims.filter(({ kind }) => kind === 'won')).toEqual([{ kind: 'won', fence: 1, onUnknown: 'retry' }])
  expect(claims.filter(({ kind }) => kind === 'lost')).toHaveLength(19)
})

test('a lease that lives is not taken over; one that is over is, under the next fence, by a repeat', async () => {
  const { leases } = storesOn(store)
  const operation = newOperation()
  await claimed(operation)
  expect(await leases.takeOver(operation, TERMS)).toEqual({ kind: 'lost' })
  await endLease(store, operation)
  expect(await leases.takeOver(otherPayload(operation), TERMS)).toEqual({ kind: 'lost' })
  expect(await leases.takeOver(operation, TERMS)).toEqual({ kind: 'won', fence: 2, onUnknown: 'retry' })
  expect(await leases.takeOver(operation, TERMS)).toEqual({ kind: 'lost' })
})

test('of 10 takeovers at once one is won', async () => {
  const { leases } = storesOn(store)
  const operation = newOperation()
  await claimed(operation)
  await endLease(store, operation)
  const takeovers = await Promise.all(Array.from({ length: 10 }, () => leases.takeOver(operation, TERMS)))
  expect(takeovers.filter(({ kind }) => kind === 'won')).toEqual([{ kind: 'won', fence: 2, onUnknown: 'retry' }])
})

test('the policy of the row governs a takeover, whatever the one who takes over says', async () => {
  const { leases } = storesOn(store)
  const [manual, retry] = [newOperation(), newOperation()]
  await claimed(manual, 'manual')
  await claimed(retry, 'retry')
  for (const operation of [manual, retry]) await endLease(store, operation)
  expect(await leases.takeOver(manual, TERMS)).toEqual({ kind: 'lost' })
  expect(await leases.takeOver(retry, { ...TERMS, onUnknown: 'manual' })).toEqual({
    kind: 'won',
    fence: 2,
    onUnknown: 'retry',
  })
})

test('a takeover makes no row, and leaves a settled one alone', async () => {
  const { keys, leases } = storesOn(store)
  const [absent, done] = [newOperation(), newOperation()]
  await settled(keys, done)
  expect(await leases.takeOver(absent, TERMS)).toEqual({ kind: 'lost' })
  expect(await leases.takeOver(done, TERMS)).toEqual({ kind: 'lost' })
  expect(await store.query(`select status, fence from ${store.tables.keys}`)).toEqual([{ status: 'settled', fence: 1 }])
})

test('a released operation is taken over at once, whatever its policy, and its points are there', async () => {
  const { leases } = storesOn(store)
  const operation = newOperation()
  const holder = await claimed(operation, 'manual')
  await leases.record(holder, 'charge', '"ch_1"')
  expect(await leases.release(holder)).toBe(true)
  expect(await leases.read(operation)).toMatchObject({ status: 'released', fence: 1, hasRecoveryPoints: true })
  expect(await leases.takeOver(operation, TERMS)).toEqual({ kind: 'won', fence: 2, onUnknown: 'manual' })
  expect(await leases.points(operation)).toEqual([{ name: 'charge', result: '"ch_1"', fence: 1 }])
})

test('an abandoned operation is taken over at once where its policy is to try again, and else not', async () => {
  const { leases } = storesOn(store)
  for (const [onUnknown, kind] of [
    ['retry', 'won'],
    ['manual', 'lost'],
  ] as const) {
    const operation = newOperation()
    expect(await leases.abandon(await claimed(operation, onUnknown))).toBe(true)
    expect(await leases.read(operation)).toMatchObject({ status: 'in flight', leaseLeftMs: 0 })
    expect(await leases.takeOver(operation, TERMS)).toMatchObject({ kind })
  }
})

test('a renewal makes the lease last from now on', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed(newOperation())
  await endLease(store, holder.operation)
  expect(await leases.renew(holder, TERMS)).toBe(true)
  expect(await leases.takeOver(holder.operation, TERMS)).toEqual({ kind: 'lost' })
})

test('a holder whose fence is old renews, records, settles, releases and abandons nothing', async () => {
  const { leases } = storesOn(store)
  const old = await claimed(newOperation())
  await endLease(store, old.operation)
  await leases.takeOver(old.operation, TERMS)
  const before = await store.query(`select * from ${store.tables.keys}`)
  expect(await leases.renew(old, TERMS)).toBe(false)
  expect(await leases.record(old, 'late', '1')).toBe(false)
  expect(await leases.settle(old, { kind: 'value', result: '1' })).toBe(false)
  expect(await leases.release(old)).toBe(false)
  expect(await leases.abandon(old)).toBe(false)
  expect(await store.query(`select * from ${store.tables.keys}`)).toEqual(before)
  expect(await leases.points(old.operation)).toEqual([])
  // And the one who took over does.
  expect(await leases.settle(held(old.operation, 2), { kind: 'value', result: '2' })).toBe(true)
})

test('nobody renews, records, settles, releases or abandons what is settled, or was never claimed', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed(newOperation())
  await leases.settle(holder, { kind: 'value', result: '1' })
  for (const one of [holder, held(newOperation(), 1)]) {
    expect(await leases.renew(one, TERMS)).toBe(false)
    expect(await leases.record(one, 'late', '1')).toBe(false)
    expect(await leases.settle(one, { kind: 'value', result: '2' })).toBe(false)
    expect(await leases.release(one)).toBe(false)
    expect(await leases.abandon(one)).toBe(false)
  }
  expect(await leases.read(holder.operation)).toMatchObject({ outcome: { result: '1' } })
})

test('an operator resolves or releases what is abandoned or released, and the fence rises', async () => {
  const { leases } = storesOn(store)
  const resolved = await claimed(newOperation(), 'manual')
  const released = await claimed(newOperation(), 'manual')
  for (const { operation } of [resolved, released]) await endLease(store, operation)
  expect(await leases.resolveAbandoned(resolved.operation, '"told"')).toBe(true)
  expect(await leases.releaseAbandoned(released.operation)).toBe(true)
  expect(await leases.read(resolved.operation)).toMatchObject({
    status: 'settled',
    fence: 2,
    outcome: { kind: 'value', result: '"told"' },
  })
  expect(await leases.read(released.operation)).toMatchObject({ status: 'released', fence: 2 })
  expect(await leases.settle(released, { kind: 'value', result: '1' })).toBe(false)
  expect(await leases.resolveAbandoned(released.operation, null)).toBe(true)
})

test('an operator changes nothing of a lease that lives, of what is settled, and of what is not there', async () => {
  const { keys, leases } = storesOn(store)
  const [living, done, absent] = [newOperation(), newOperation(), newOperation()]
  await claimed(living)
  await settled(keys, done)
  for (const operation of [living, done, absent]) {
    expect(await leases.resolveAbandoned(operation, '1')).toBe(false)
    expect(await leases.releaseAbandoned(operation)).toBe(false)
  }
  expect(await leases.renew(held(living, 1 as Fence), TERMS)).toBe(true)
})
