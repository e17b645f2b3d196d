import { expect, test } from 'vitest'
import type { Fault } from '../../server/store/sqlDatabase.js'
import { BOUNDS, newOperation, openTransaction, settled, storesOn, won } from '../support/store/contract.js'
import { useStore } from '../support/store/useStore.js'

const store = useStore()

test('of two serializable transactions that read what the other writes, one is a conflict, and runs on its own', async () => {
  const { keys } = storesOn(store)
  const [one, other] = [newOperation(), newOperation()]
  await settled(keys, one)
  await settled(keys, other)
  const count = `select count(*) from ${store.tables.keys} where procedure = 'pay'`
  const change = (key: string) =>
    `update ${store.tables.keys} set attempts = attempts + 1 where key = '${key}' and scope = 'alice'`
  const serializable = { ...BOUNDS, isolationLevel: 'Serializable' } as const
  let arrived = 0
  let go: () => void = () => undefined
  const bothHaveRead = new Promise<void>((resolve) => {
    go = resolve
  })
  const skew = (key: string) =>
    keys.transaction(serializable, async ({ tx }) => {
      await tx.$queryRawUnsafe(count)
      arrived += 1
      if (arrived === 2) go()
      await bothHaveRead
      // Both have read what both change: in no order would that be so.
      await tx.$executeRawUnsafe(change(one.key === key ? other.key : one.key))
    })
  const ends = await Promise.allSettled([skew(one.key), skew(other.key)])
  const faults = ends.flatMap((end) => (end.status === 'rejected' ? [keys.faultOf(end.reason)] : []))
  expect(faults).toEqual(['conflict'])
  // The same once more: nothing of the first try is left.
  await skew(ends[0]?.status === 'rejected' ? one.key : other.key)
  const rows = await store.query<{ attempts: number }>(`select attempts from ${store.tables.keys}`)
  expect(rows.map(({ attempts }) => attempts).sort()).toEqual([2, 2])
})

test.each<[string, Fault, string]>([
  ['a unique key twice', 'refused', `insert into KEYS select * from KEYS`],
  ['a table that is not there', 'refused', 'select * from no_such_table'],
  ['a statement that is too slow', 'timed out', `select pg_sleep(30)`],
])('%s is %s', async (_, fault, statement) => {
  const { keys } = storesOn(store)
  await settled(keys, newOperation())
  const error = await keys
    .transaction({ ...BOUNDS, timeoutMs: 1000 }, async (transaction) => {
      await won(transaction, newOperation())
      await transaction.tx.$executeRawUnsafe(statement.replaceAll('KEYS', store.tables.keys))
    })
    .catch((cause: unknown) => cause)
  expect(keys.faultOf(error)).toBe(fault)
})

test('a lock that is not granted in time is blocked', async () => {
  const { keys } = storesOn(store)
  const operation = newOperation()
  await settled(keys, operation)
  const update = `update ${store.tables.keys} set attempts = 9 where key = '${operation.key}' and scope = 'alice'`
  const open = await openTransaction(keys, async ({ tx }) => {
    await tx.$executeRawUnsafe(update)
  })
  const error = await keys
    .transaction(BOUNDS, async ({ tx }) => {
      await tx.$executeRawUnsafe(`set local lock_timeout = '50ms'`)
      await tx.$executeRawUnsafe(update)
    })
    .catch((cause: unknown) => cause)
  expect(keys.faultOf(error)).toBe('blocked')
  await open.rollBack()
})
