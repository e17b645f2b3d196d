import { expect, test } from 'vitest'
import { runPrisma } from '../../prisma/dev/prismaCli.js'
import { maintainPartitions } from '../../server/ops/maintainPartitions.js'
import { partition } from '../support/database/partition.js'
import { migratedDatabase } from '../support/partitionedDatabase.js'
import { BOUNDS, HOUR, held, newOperation, settled, TERMS } from '../support/store/contract.js'

const driftOf = (url: string) =>
  runPrisma(['migrate', 'diff', '--exit-code', '--from-config-datasource', '--to-schema', 'prisma/schema'], url)

test('a table with rows and points is partitioned, and answers as before', async () => {
  const db = await migratedDatabase()
  const [paid, running] = [newOperation({ ageMs: HOUR }), newOperation()]
  await settled(db.keys, paid, '"paid"')
  await db.leases.claim(running, 1, TERMS)
  await db.leases.record(held(running, 1), 'charge', '1')
  await partition(db.url)
  expect(await db.keys.read(paid)).toMatchObject({ status: 'settled', outcome: { kind: 'value', result: '"paid"' } })
  expect(await db.leases.points(running)).toEqual([{ name: 'charge', result: '1', fence: 1 }])
  expect(await db.leases.settle(held(running, 1), { kind: 'value', result: '2' })).toBe(true)
  const again = await db.keys.transaction(BOUNDS, (transaction) => transaction.claim(paid, 2))
  expect(again).toMatchObject({ kind: 'lost', found: { status: 'settled' } })
  expect(await db.contents()).toEqual({ idempotency_keys_before: [paid.key, running.key].sort() })
  await db.query('delete from idempotency_keys')
  expect(await db.query('select 1 from idempotency_recovery_points')).toEqual([])
})

test('the old table goes like any other partition, once all of it is forgotten', async () => {
  const db = await migratedDatabase()
  const [charged, young] = [newOperation({ ageMs: 5 * HOUR }), newOperation()]
  await db.leases.claim(charged, 1, TERMS)
  await db.leases.record(held(charged, 1), 'charge', '1')
  await db.leases.settle(held(charged, 1), { kind: 'value', result: '1' })
  const boundary = newOperation({ ageMs: 4 * HOUR }).key.slice(0, 13)
  await db.query(
    `alter table idempotency_keys add constraint idempotency_keys_before_check check (key < '${boundary}')`,
  )
  await partition(db.url)
  await settled(db.keys, young)
  await maintainPartitions(db.partitioned(3))
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3))).toMatchObject({ dropped: 1, left: 0, deleted: 0 })
  expect(await db.contents()).toEqual({ idempotency_keys_default: [young.key] })
  expect(await db.query('select 1 from idempotency_recovery_points')).toEqual([])
})

test('Prisma sees no drift in a partitioned table, nor in partitions that were made since', async () => {
  const db = await migratedDatabase()
  await db.query('drop table test_runs')
  await partition(db.url)
  expect(await driftOf(db.url)).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('No difference detected'),
  })
  await maintainPartitions(db.partitioned())
  expect(await driftOf(db.url)).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('No difference detected'),
  })
  await db.query('alter table idempotency_keys add column planted int')
  expect(await driftOf(db.url)).toMatchObject({ exitCode: 2, output: expect.stringContaining('planted') })
})

test('owner and grants of the table are those of the partitioned one, and its checks hold', async () => {
  const db = await migratedDatabase()
  const role = `clerk_${db.url.slice(-8)}`
  await db.query(
    `create role ${role}; grant select, insert on idempotency_keys to ${role}; alter table idempotency_keys owner to ${role};
    alter table idempotency_keys add constraint of_the_application check (status <> 'lost')`,
  )
  const acl = () => db.query(`select relowner, relacl::text from pg_class where oid = 'idempotency_keys'::regclass`)
  const before = await acl()
  await partition(db.url)
  expect(await acl()).toEqual(before)
  await expect(
    db.query(`insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
      values ('01900000-0000-7000-8000-000000000000', 'alice', 'pay', '\\x01', 'lost', 1, 1, now())`),
  ).rejects.toMatchObject({ code: '23514' })
  await db.query(`reassign owned by ${role} to postgres; drop owned by ${role}; drop role ${role}`)
})

test('a table that is partitioned is not partitioned again, and says so', async () => {
  const db = await migratedDatabase()
  await partition(db.url)
  await expect(partition(db.url)).rejects.toThrow('idempotency_keys is partitioned already')
})

test('a table of which Postgres knows where its keys end is not read again', async () => {
  const db = await migratedDatabase()
  await settled(db.keys, newOperation())
  await db.query(
    `alter table idempotency_keys add constraint idempotency_keys_before_check check (key < '0fff0000-0000') not valid`,
  )
  await db.query('alter table idempotency_keys validate constraint idempotency_keys_before_check')
  const reads = async () => {
    await db.query('select pg_stat_force_next_flush()')
    const [row] = await db.query<{ n: string }>(
      `select seq_tup_read as n from pg_stat_user_tables where relname like 'idempotency_keys%' order by 1 desc limit 1`,
    )
    return row?.n
  }
  const before = await reads()
  await partition(db.url)
  expect(await reads()).toBe(before)
  const bounds = await db.query(
    `select pg_get_expr(relpartbound, oid) as bound from pg_class where relname = 'idempotency_keys_before'`,
  )
  expect(bounds).toEqual([{ bound: `FOR VALUES FROM (MINVALUE) TO ('0fff0000-0000')` }])
  expect(await db.query(`select 1 from pg_constraint where conname = 'idempotency_keys_before_check'`)).toEqual([])
})
