import { expect, test } from 'vitest'
import type { Operation } from '../../server/engine/record.js'
import { BOUNDS, endLease, HOUR, newOperation, settled, storesOn, TERMS } from '../support/store/contract.js'
import { useStore } from '../support/store/useStore.js'

const store = useStore()

/** As if the watermark had been raised two minutes earlier: a margin is one. */
async function marginPasses(): Promise<void> {
  await store.query(`update ${store.tables.watermark} set raised_at = raised_at - interval '2 minutes'`)
}

/** Raises the watermark to keys that are older than so many hours. */
async function raise(hours: number): Promise<boolean> {
  return storesOn(store, hours * HOUR).sweeper.raiseWatermark()
}

const keysLeft = async () =>
  (await store.query<{ key: string }>(`select key from ${store.tables.keys} order by key`)).map(({ key }) => key)

const old = () => newOperation({ ageMs: 5 * HOUR })

async function leased(operation: Operation, onUnknown: 'retry' | 'manual'): Promise<Operation> {
  await storesOn(store).leases.claim(operation, 1, { ...TERMS, onUnknown })
  return operation
}

test('the watermark is raised to the births that are old enough, and never goes down', async () => {
  const mark = async () => {
    const [row] = await store.query<{ key: string }>(`select key from ${store.tables.watermark}`)
    return row?.key ?? ''
  }
  expect(await raise(3)).toBe(true)
  const first = await mark()
  expect(first > newOperation({ ageMs: 4 * HOUR }).key).toBe(true)
  expect(first < newOperation({ ageMs: 3 * HOUR }).key).toBe(true)
  await marginPasses()
  expect(await raise(4)).toBe(false)
  expect(await mark()).toBe(first)
  expect(await raise(2)).toBe(true)
  expect((await mark()) > first).toBe(true)
})

test('the watermark is raised once in a margin, and by one of several at once', async () => {
  const raises = await Promise.all(Array.from({ length: 5 }, () => raise(3)))
  expect(raises.filter((raised) => raised)).toHaveLength(1)
  expect(await raise(2)).toBe(false)
  await marginPasses()
  expect(await raise(2)).toBe(true)
})

test('a watermark that is missing is made, and raised only later', async () => {
  await store.query(`delete from ${store.tables.watermark}`)
  expect(await raise(3)).toBe(false)
  expect(await raise(3)).toBe(false)
  expect(await store.query(`select id, key from ${store.tables.watermark}`)).toEqual([
    { id: 1, key: '00000000-0000-7000-8000-000000000000' },
  ])
  await marginPasses()
  expect(await raise(3)).toBe(true)
})

test('a sweep deletes below a watermark that stood for a margin, and nothing else', async () => {
  const { keys, sweeper } = storesOn(store)
  const [forgotten, young] = [old(), newOperation({ ageMs: 2 * HOUR })]
  for (const operation of [forgotten, young]) await settled(keys, operation)
  expect(await sweeper.deleteBatch(100)).toBe(0)
  await raise(3)
  expect(await sweeper.deleteBatch(100)).toBe(0)
  await marginPasses()
  expect(await sweeper.deleteBatch(100)).toBe(1)
  expect(await keysLeft()).toEqual([young.key])
})

test('a sweep never deletes a lease that lives, or what is left for a person to decide', async () => {
  const { leases, sweeper } = storesOn(store)
  const living = await leased(old(), 'retry')
  const abandoned = await leased(old(), 'retry')
  const left = await leased(old(), 'manual')
  const released = await leased(old(), 'manual')
  for (const operation of [abandoned, left]) await endLease(store, operation)
  await leases.release({ operation: released, fence: 1 as never })
  await raise(3)
  await marginPasses()
  expect(await sweeper.deleteBatch(100)).toBe(2)
  expect(await keysLeft()).toEqual([living.key, left.key].sort())
})

test('a sweep takes recovery points with it', async () => {
  const { leases, sweeper } = storesOn(store)
  const operation = await leased(old(), 'retry')
  await leases.record({ operation, fence: 1 as never }, 'charge', '1')
  await leases.settle({ operation, fence: 1 as never }, { kind: 'value', result: '1' })
  await raise(3)
  await marginPasses()
  expect(await sweeper.deleteBatch(100)).toBe(1)
  expect(await store.query(`select 1 from ${store.tables.recoveryPoints}`)).toEqual([])
})

test('a sweep deletes in batches, the oldest first', async () => {
  const { keys, sweeper } = storesOn(store)
  const operations = [9, 8, 7, 6, 5].map((hours) => newOperation({ ageMs: hours * HOUR }))
  for (const operation of operations) await settled(keys, operation)
  await raise(3)
  await marginPasses()
  expect(await sweeper.deleteBatch(2)).toBe(2)
  expect(await keysLeft()).toEqual(operations.slice(2).map(({ key }) => key))
  expect(await sweeper.deleteBatch(2)).toBe(2)
  expect(await sweeper.deleteBatch(2)).toBe(1)
})

test('a sweep passes by a row that somebody works on, and two at once share the work', async () => {
  const { keys, sweeper } = storesOn(store)
  const operations = Array.from({ length: 20 }, old)
  for (const operation of operations) await settled(keys, operation)
  await raise(3)
  await marginPasses()
  const other = await store.connect()
  await other.query(`begin; select 1 from ${store.tables.keys} where key = '${operations[0]?.key}' for update`)
  const swept = await Promise.all([sweeper.deleteBatch(100), sweeper.deleteBatch(100)])
  expect(swept[0] + swept[1]).toBe(19)
  await other.query('commit')
  other.release()
  expect(await keysLeft()).toEqual([operations[0]?.key])
})

test('a key that was swept is never claimed again, in either mode, and is not taken over', async () => {
  const { keys, leases, sweeper } = storesOn(store)
  const operation = old()
  await settled(keys, operation)
  await raise(3)
  await marginPasses()
  expect(await sweeper.deleteBatch(100)).toBe(1)
  const claim = await keys.transaction(BOUNDS, (transaction) => transaction.claim(operation, 2))
  expect(claim).toMatchObject({ kind: 'lost', found: { status: 'absent', age: 'too old' } })
  expect(await leases.claim(operation, 2, TERMS)).toEqual({ kind: 'lost' })
  expect(await leases.takeOver(operation, TERMS)).toEqual({ kind: 'lost' })
})
