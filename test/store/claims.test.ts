import { expect, test } from 'vitest'
import type { Operation } from '../../server/engine/record.js'
import type { Claim } from '../../server/store/keyStore.js'
import {
  BOUNDS,
  HOUR,
  newOperation,
  openTransaction,
  otherPayload,
  RETENTION_MS,
  SKEW_MS,
  settled,
  storesOn,
  TERMS,
  won,
} from '../support/store/contract.js'
import { useStore } from '../support/store/useStore.js'

const store = useStore()

/** Claims in a transaction of its own that commits. */
function claim(operation: Operation, claimWaitMs = BOUNDS.claimWaitMs): Promise<Claim> {
  const { keys } = storesOn(store)
  return keys.transaction({ ...BOUNDS, claimWaitMs }, (transaction) => transaction.claim(operation, 1))
}

test('a claim is won under fence 1, and nobody else sees it before its transaction commits', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation()
  const open = await openTransaction(keys, async (transaction) => {
    expect(await transaction.claim(operation, 3)).toMatchObject({ kind: 'won', fence: 1 })
    expect(await keys.read(operation)).toMatchObject({ status: 'absent', age: 'young' })
  })
  await open.commit()
  expect(await store.query(`select key, scope, procedure, status, fence, attempts from ${store.tables.keys}`)).toEqual([
    { key: operation.key, scope: 'alice', procedure: 'pay', status: 'in_flight', fence: 1, attempts: 3 },
  ])
})

test('the identity of a claim is that of its transaction, and of no other', async () => {
  const { keys } = storesOn(store)
  const [one, other] = [newOperation(), newOperation()]
  const claims = await keys.transaction(BOUNDS, async (transaction) => {
    const claims = [await won(transaction, one), await won(transaction, other)]
    for (const claim of claims) expect(await transaction.holds(one, claim)).toBe(true)
    return claims
  })
  expect(claims[0]?.identity).toEqual(expect.objectContaining(claims[1]?.identity ?? {}))
  await keys.transaction(BOUNDS, async (transaction) => {
    const later = newOperation()
    const claim = await won(transaction, later)
    expect(claim.identity.transaction).not.toBe(claims[0]?.identity.transaction)
    for (const past of claims) expect(await transaction.holds(later, past)).toBe(false)
  })
})

test('of 20 claims at once one is won, and the others find its row', async () => {
  const operation = newOperation()
  const claims = await Promise.all(Array.from({ length: 20 }, () => claim(operation)))
  expect(claims.filter(({ kind }) => kind === 'won')).toHaveLength(1)
  expect(claims.filter((one) => one.kind === 'lost' && one.found.status === 'in flight')).toHaveLength(19)
})

test('a claim waits for another’s transaction, and loses to what that committed', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation()
  const open = await openTransaction(keys, async (transaction) => {
    const { fence } = await won(transaction, operation)
    await transaction.settle(operation, fence, { kind: 'value', result: '"first"' })
  })
  const second = claim(operation)
  await open.commit()
  expect(await second).toMatchObject({
    kind: 'lost',
    found: { status: 'settled', outcome: { kind: 'value', result: '"first"' } },
  })
})

test('a claim is won once the transaction that it waited for is rolled back', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation()
  const open = await openTransaction(keys, async (transaction) => {
    await won(transaction, operation)
  })
  const second = claim(operation)
  await open.rollBack()
  expect(await second).toMatchObject({ kind: 'won', fence: 1 })
})

test('a claim that waits longer than claimWaitMs is blocked, in either mode', async () => {
  const { keys, leases } = storesOn(store)
  const operation = newOperation()
  const open = await openTransaction(keys, async (transaction) => {
    await won(transaction, operation)
  })
  await expect(
    keys.transaction({ ...BOUNDS, claimWaitMs: 50 }, async (transaction) => {
      expect(await transaction.claim(operation, 1)).toEqual({ kind: 'blocked' })
      throw new Error('spent')
    }),
  ).rejects.toThrow('spent')
  expect(await leases.claim(operation, 1, { ...TERMS, claimWaitMs: 50 })).toEqual({ kind: 'blocked' })
  await open.rollBack()
})

test('a claim bounds its transaction, and puts back the application’s lock_timeout', async () => {
  const { keys } = storesOn(store)
  const show = (name: string) => `current_setting('${name}') as ${name}`
  const names = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout']
  const settings = await keys.transaction({ ...BOUNDS, timeoutMs: 9000 }, async (transaction) => {
    const look = `select ${names.map(show).join(', ')}`
    const [before] = await transaction.tx.$queryRawUnsafe<Record<string, string>[]>(look)
    await won(transaction, newOperation())
    const [after] = await transaction.tx.$queryRawUnsafe<Record<string, string>[]>(look)
    return { before, after }
  })
  expect(settings.after).toEqual({
    lock_timeout: settings.before?.['lock_timeout'],
    statement_timeout: '9s',
    idle_in_transaction_session_timeout: '10s',
  })
})

test('what a transaction wrote is gone with its claim when it is rolled back', async () => {
  const { keys } = storesOn(store)
  const [operation, effect] = [newOperation(), newOperation()]
  const open = await openTransaction(keys, async (transaction) => {
    await won(transaction, operation)
    await won(transaction, effect)
  })
  await open.rollBack()
  expect(await store.query(`select 1 from ${store.tables.keys}`)).toEqual([])
})

test('undoWork undoes what came after markWork, a failed statement too, and leaves the claim', async () => {
  const { keys } = storesOn(store)
  const [operation, effect] = [newOperation(), newOperation()]
  await keys.transaction(BOUNDS, async (transaction) => {
    const { fence } = await won(transaction, operation)
    await transaction.markWork()
    await won(transaction, effect)
    await expect(transaction.tx.$executeRawUnsafe('select 1 / 0')).rejects.toThrow()
    await transaction.undoWork()
    expect(await transaction.settle(operation, fence, { kind: 'error', shape: '{}' })).toMatchObject({
      kind: 'settled',
    })
  })
  expect(await store.query(`select key from ${store.tables.keys}`)).toEqual([{ key: operation.key }])
})

test.each([
  ['young', 0, 'won'],
  ['from the future', -2 * SKEW_MS, 'lost'],
  ['too old', RETENTION_MS + HOUR, 'lost'],
])('a key that is %s: its claim, in either mode, and its reading', async (age, ageMs, kind) => {
  const { keys, leases } = storesOn(store)
  const operation = newOperation({ ageMs })
  expect(await keys.read(operation)).toMatchObject({ status: 'absent', age })
  expect(await claim(operation)).toMatchObject({ kind })
  expect(await leases.claim(newOperation({ ageMs }), 1, TERMS)).toMatchObject({ kind })
  expect(await store.query(`select 1 from ${store.tables.keys}`)).toHaveLength(kind === 'won' ? 2 : 0)
})

test('a key from the future is told by how much, by the database’s clock', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation({ ageMs: -HOUR })
  const found = await keys.read(operation)
  if (found.status !== 'absent') throw new Error('there is a row')
  expect(found.youngInMs).toBe(operation.birth - SKEW_MS - found.nowMs)
  const [row] = await store.query<{ ms: number }>('select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms')
  expect(Math.abs((row?.ms ?? 0) - found.nowMs)).toBeLessThan(SKEW_MS)
})

test('a key below the watermark is claimed in no mode, and a row that is there answers all the same', async () => {
  const { keys, leases } = storesOn(store)
  const there = newOperation({ ageMs: 2 * HOUR })
  await settled(keys, there, '"there"')
  await store.query(`update ${store.tables.watermark} set key = $1`, [newOperation({ ageMs: HOUR }).key])
  const operation = newOperation({ ageMs: 2 * HOUR })
  expect(await claim(operation)).toMatchObject({ kind: 'lost', found: { status: 'absent', age: 'too old' } })
  expect(await leases.claim(operation, 1, TERMS)).toEqual({ kind: 'lost' })
  expect(await claim(there)).toMatchObject({ kind: 'lost', found: { status: 'settled' } })
  expect(await keys.read(there)).toMatchObject({ status: 'settled', outcome: { kind: 'value', result: '"there"' } })
})

test('one key of two scopes is two operations', async () => {
  const operation = newOperation()
  const elsewhere = { ...operation, scope: 'bob' as Operation['scope'] }
  expect(await claim(operation)).toMatchObject({ kind: 'won' })
  expect(await claim(elsewhere)).toMatchObject({ kind: 'won' })
  expect(await storesOn(store).keys.read({ ...operation, scope: 'carol' as Operation['scope'] })).toMatchObject({
    status: 'absent',
  })
})

test('a released row is claimed in a transaction by a repeat, if it has no recovery points', async () => {
  const { keys, leases } = storesOn(store)
  const [plain, withPoint] = [newOperation(), newOperation()]
  const claimReleased = (operation: Operation) =>
    keys.transaction(BOUNDS, (transaction) => transaction.claimReleased(operation))
  expect(await claimReleased(plain)).toMatchObject({ kind: 'lost', found: { status: 'absent' } })
  for (const operation of [plain, withPoint]) {
    const lease = await leases.claim(operation, 1, TERMS)
    if (lease.kind !== 'won') throw new Error('the lease was not won')
    expect(await claimReleased(operation)).toMatchObject({ kind: 'lost', found: { status: 'in flight' } })
    if (operation === withPoint) await leases.record({ operation, fence: lease.fence }, 'charge', '1')
    await leases.release({ operation, fence: lease.fence })
  }
  expect(await claimReleased(otherPayload(plain))).toMatchObject({ kind: 'lost', found: { status: 'released' } })
  expect(await claimReleased(withPoint)).toMatchObject({
    kind: 'lost',
    found: { status: 'released', hasRecoveryPoints: true },
  })
  expect(await claimReleased(plain)).toMatchObject({ kind: 'won', fence: 2 })
  expect(await claimReleased(plain)).toMatchObject({ kind: 'lost', found: { status: 'in flight' } })
})

test('removeEscaped removes a first claim that stands without a lease, and nothing else', async () => {
  const { keys, leases } = storesOn(store)
  const [escaped, leased, done] = [newOperation(), newOperation(), newOperation()]
  await claim(escaped)
  await leases.claim(leased, 1, TERMS)
  await settled(keys, done)
  for (const operation of [escaped, leased, done]) await keys.removeEscaped(operation)
  const rows = await store.query<{ key: string }>(`select key from ${store.tables.keys}`)
  expect(rows.map(({ key }) => key).sort()).toEqual([leased.key, done.key].sort())
})
