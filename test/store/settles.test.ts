import { expect, test } from 'vitest'
import type { Fence, Outcome } from '../../server/engine/record.js'
import { BOUNDS, HOUR, newOperation, storesOn, TERMS, won } from '../support/store/contract.js'
import { useStore } from '../support/store/useStore.js'

const store = useStore()

const OUTCOMES: [string, Outcome][] = [
  ['a value', { kind: 'value', result: '{"name":"Zoë \\u0000 🫖","n":1e-7}' }],
  ['undefined', { kind: 'value', result: null }],
  ['an error', { kind: 'error', shape: '{"message":"no"}' }],
  ['a tombstone', { kind: 'tombstone', reason: 'RESULT_TOO_LARGE' }],
]

test.each(OUTCOMES)('%s is stored by a settle and read byte for byte, in either mode', async (_, outcome) => {
  const { keys, leases } = storesOn(store)
  const [one, leased] = [newOperation(), newOperation()]
  const settle = await keys.transaction(BOUNDS, async (transaction) => {
    const { fence, identity } = await won(transaction, one)
    return { claimed: identity, settled: await transaction.settle(one, fence, outcome) }
  })
  // The settle proves that it ran where the claim ran.
  const { backend, transaction } = settle.claimed
  expect(settle.settled).toEqual({ kind: 'settled', identity: expect.objectContaining({ backend, transaction }) })
  const claim = await leases.claim(leased, 1, TERMS)
  if (claim.kind !== 'won') throw new Error('the lease was not won')
  expect(await leases.settle({ operation: leased, fence: claim.fence }, outcome)).toBe(true)
  for (const operation of [one, leased]) {
    const found = await keys.read(operation)
    expect(found).toMatchObject({ status: 'settled', fence: 1, outcome })
    if (found.status === 'settled') expect([...found.fingerprint]).toEqual([...operation.fingerprint])
  }
})

test('a settle under another fence, of a settled row, or without a claim stores nothing', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation()
  const outcome: Outcome = { kind: 'value', result: '"other"' }
  const settle = (fence: number) =>
    keys.transaction(BOUNDS, (transaction) => transaction.settle(operation, fence as Fence, outcome))
  expect(await settle(1)).toEqual({ kind: 'lost' })
  await keys.transaction(BOUNDS, async (transaction) => {
    const { fence } = await won(transaction, operation)
    expect(await transaction.settle(operation, (fence + 1) as Fence, outcome)).not.toMatchObject({ kind: 'settled' })
    await transaction.settle(operation, fence, { kind: 'value', result: '"mine"' })
  })
  expect(await settle(1)).toEqual({ kind: 'lost' })
  expect(await settle(2)).toEqual({ kind: 'lost' })
  expect(await keys.read(operation)).toMatchObject({ outcome: { kind: 'value', result: '"mine"' } })
})

test('a settle is too old once the watermark has passed its key, and for a row that was there before it is not', async () => {
  const { keys, leases } = storesOn(store)
  const [first, again] = [newOperation({ ageMs: HOUR }), newOperation({ ageMs: HOUR })]
  const lease = await leases.claim(again, 1, TERMS)
  if (lease.kind !== 'won') throw new Error('the lease was not won')
  await leases.release({ operation: again, fence: lease.fence })
  const raise = () => store.query(`update ${store.tables.watermark} set key = $1`, [newOperation().key])
  const done: Outcome = { kind: 'value', result: '1' }
  await keys.transaction(BOUNDS, async (transaction) => {
    const { fence } = await won(transaction, first)
    const claimed = await transaction.claimReleased(again)
    if (claimed.kind !== 'won') throw new Error('the released row was not won')
    await raise()
    expect(await transaction.settle(first, fence, done)).toEqual({ kind: 'too old' })
    expect(await transaction.settle(again, claimed.fence, done)).toMatchObject({ kind: 'settled' })
  })
})

test('a settle fails after a statement that failed: what a handler swallowed is noticed', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation()
  const error = await keys
    .transaction(BOUNDS, async (transaction) => {
      const { fence } = await won(transaction, operation)
      await transaction.tx.$executeRawUnsafe('select 1 / 0').catch(() => undefined)
      await transaction.settle(operation, fence, { kind: 'value', result: '1' })
    })
    .catch((cause: unknown) => cause)
  expect(keys.faultOf(error)).toBe('aborted')
  expect(await keys.read(operation)).toMatchObject({ status: 'absent' })
})

test('a second settle in one transaction is refused with the first, and the identity of another transaction differs', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation()
  await keys.transaction(BOUNDS, async (transaction) => {
    const { fence } = await won(transaction, operation)
    const first = await transaction.settle(operation, fence, { kind: 'value', result: '1' })
    expect(first.kind).toBe('settled')
    expect(await transaction.settle(operation, fence, { kind: 'value', result: '2' })).toEqual({ kind: 'lost' })
  })
  expect(await keys.read(operation)).toMatchObject({ outcome: { result: '1' } })
})
