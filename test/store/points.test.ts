import { expect, test } from 'vitest'
import type { Operation } from '../../server/engine/record.js'
import type { Held } from '../../server/store/leaseStore.js'
import { BOUNDS, endLease, newOperation, storesOn, TERMS } from '../support/store/contract.js'
import { useStore } from '../support/store/useStore.js'

const store = useStore()

async function claimed(operation = newOperation()): Promise<Held> {
  const claim = await storesOn(store).leases.claim(operation, 1, TERMS)
  if (claim.kind !== 'won') throw new Error(`the claim was ${claim.kind}`)
  return { operation, fence: claim.fence }
}

/** A row that a recovery point writes with its record: of our own table, so that no other one is needed. */
function effect({ key }: Operation): string {
  return `insert into ${store.tables.keys} (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    values ('${key}', 'effect', 'effect', '\\x01', 'released', 1, 1, clock_timestamp())`
}

const effects = () => store.query(`select 1 from ${store.tables.keys} where scope = 'effect'`)

test('points are read in the order in which they were recorded, with their results and fences', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed()
  for (const [name, result] of [
    ['charge', '{"id":1}'],
    ['a mail', null],
    ['Über', '""'],
  ] as const) {
    expect(await leases.record(holder, name, result)).toBe(true)
  }
  expect(await leases.points(holder.operation)).toEqual([
    { name: 'charge', result: '{"id":1}', fence: 1 },
    { name: 'a mail', result: null, fence: 1 },
    { name: 'Über', result: '""', fence: 1 },
  ])
})

test('a point is recorded once, and keeps what it was first', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed()
  expect(await leases.record(holder, 'charge', '1')).toBe(true)
  expect(await leases.record(holder, 'charge', '2')).toBe(false)
  expect(await leases.points(holder.operation)).toEqual([{ name: 'charge', result: '1', fence: 1 }])
})

test('what a point writes commits with its record', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed()
  const end = await leases.recordWith(holder, { name: 'order', bounds: BOUNDS }, async (tx) => {
    await tx.$executeRawUnsafe(effect(holder.operation))
    expect(await effects()).toEqual([])
    return '"made"'
  })
  expect(end).toEqual({ kind: 'recorded' })
  expect(await effects()).toHaveLength(1)
  expect(await leases.points(holder.operation)).toEqual([{ name: 'order', result: '"made"', fence: 1 }])
})

test('what a point writes is undone with its record: when it throws, and when it is recorded already', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed()
  const point = { name: 'order', bounds: BOUNDS }
  const failed = new Error('failed')
  await expect(
    leases.recordWith(holder, point, async (tx) => {
      await tx.$executeRawUnsafe(effect(holder.operation))
      throw failed
    }),
  ).rejects.toBe(failed)
  expect(await leases.points(holder.operation)).toEqual([])
  await leases.record(holder, 'order', '"before"')
  const end = await leases.recordWith(holder, point, async (tx) => {
    await tx.$executeRawUnsafe(effect(holder.operation))
    return '"again"'
  })
  expect(end).toEqual({ kind: 'known' })
  expect(await effects()).toEqual([])
  expect(await leases.points(holder.operation)).toEqual([{ name: 'order', result: '"before"', fence: 1 }])
})

test('a holder whose fence is old does not get into the transaction of a point', async () => {
  const { leases } = storesOn(store)
  const old = await claimed()
  await endLease(store, old.operation)
  await leases.takeOver(old.operation, TERMS)
  let ran = false
  const end = await leases.recordWith(old, { name: 'order', bounds: BOUNDS }, async () => {
    ran = true
    return null
  })
  expect({ end, ran }).toEqual({ end: { kind: 'lost' }, ran: false })
})

test('a takeover waits for the transaction of a point, and finds what it recorded', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed()
  await endLease(store, holder.operation)
  let takeover: Promise<unknown> = Promise.resolve()
  const end = await leases.recordWith(holder, { name: 'order', bounds: BOUNDS }, async (tx) => {
    await tx.$executeRawUnsafe(effect(holder.operation))
    // Blocked for as long as this is open, whoever asks and how often.
    expect(await leases.takeOver(holder.operation, { ...TERMS, claimWaitMs: 50 })).toEqual({ kind: 'blocked' })
    takeover = leases.takeOver(holder.operation, TERMS)
    return '1'
  })
  expect(end).toEqual({ kind: 'recorded' })
  expect(await takeover).toEqual({ kind: 'won', fence: 2, onUnknown: 'retry' })
  expect(await leases.points(holder.operation)).toEqual([{ name: 'order', result: '1', fence: 1 }])
})

test('a renewal that meets the transaction of a point is over in claimWaitMs, and blocked', async () => {
  const { leases } = storesOn(store)
  const holder = await claimed()
  await leases.recordWith(holder, { name: 'order', bounds: BOUNDS }, async () => {
    const renewal = await leases.renew(holder, { ...TERMS, claimWaitMs: 50 }).catch((error: unknown) => error)
    expect(leases.faultOf(renewal)).toBe('blocked')
    return null
  })
  expect(await leases.renew(holder, TERMS)).toBe(true)
})
