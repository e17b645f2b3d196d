import { expect, test } from 'vitest'
import { maintainPartitions } from '../../server/ops/maintainPartitions.js'
import { sqlPartitioner } from '../../server/store/partitions/sqlPartitioner.js'
import type { RunSql } from '../../server/store/sqlDatabase.js'
import { partition } from '../support/database/partition.js'
import { migratedDatabase, type PartitionedDatabase, partitionedDatabase } from '../support/partitionedDatabase.js'
import {
  BOUNDS,
  endLease,
  HOUR,
  held,
  newOperation,
  openTransaction,
  settled,
  TERMS,
  won,
} from '../support/store/contract.js'

const DAY = 24 * HOUR
const NOTHING = { made: 0, dropped: 0, left: 0, deleted: 0, raised: false }
/** So that what is missing ahead does not matter. */
const HOURLY = { partitionMs: HOUR, ahead: 1, lockMs: 100 }

const aged = (hours: number) => newOperation({ ageMs: hours * HOUR })

test('partitions are made ahead of time, once, beyond those that are there', async () => {
  const db = await migratedDatabase()
  await partition(db.url)
  expect(await maintainPartitions(db.partitioned(), { ahead: 4 })).toMatchObject({ made: expect.any(Number) })
  const names = await db.names()
  expect(names).toContain('idempotency_keys_before')
  expect(names).toContain('idempotency_keys_default')
  const [row] = await db.query<{ days: string[] }>(
    `select array_agg('idempotency_keys_' || to_char(now() at time zone 'UTC' + day * interval '1 day', 'YYYYMMDD_0000')) as days
    from generate_series(2, 4) as day`,
  )
  expect(names).toEqual(expect.arrayContaining(row?.days ?? []))
  expect(names).toHaveLength(5)
  expect(await maintainPartitions(db.partitioned(), { ahead: 4 })).toMatchObject({ made: 0 })
  expect(await maintainPartitions(db.partitioned(), { ahead: 5 })).toMatchObject({ made: 1 })
  // As full as the table was: a settle stays on its page.
  const options = await db.query(
    `select distinct reloptions from pg_class where relname like 'idempotency_keys_2%' and relkind = 'r'`,
  )
  expect(options).toEqual([{ reloptions: ['fillfactor=70'] }])
})

test('of several calls at once each partition is made by one, and dropped by one', async () => {
  const db = await partitionedDatabase()
  for (const hours of [5, 6, 7]) await settled(db.keys, aged(hours))
  const before = await maintainPartitions(db.partitioned(3), { ...HOURLY, ahead: 1 })
  await db.marginPasses()
  const calls = await Promise.all(
    [1, 2, 3, 4].map(() => maintainPartitions(db.partitioned(3), { ...HOURLY, ahead: 3 })),
  )
  expect(await db.contents()).toEqual({})
  const sum = (of: 'made' | 'dropped') => calls.reduce((all, call) => all + call[of], 0)
  expect(sum('dropped')).toBe(7)
  const made = (await db.names()).filter((name) => name.startsWith('idempotency_keys_2'))
  expect(made).toHaveLength(before.made + sum('made'))
  expect(made.length).toBeGreaterThanOrEqual(2)
})

test('partitions are made by one call at a time, and the next finds them', async () => {
  const db = await migratedDatabase()
  await partition(db.url)
  const { partitioner } = db.partitioned()
  const holder = await db.connect()
  // A partition is attached with a lock on the points, whose foreign key leads there.
  await holder.query('begin; lock table idempotency_recovery_points in row exclusive mode')
  const waiting = () => db.query('select 1 from pg_locks where not granted')
  const plan = { partitionMs: DAY, ahead: 4 }
  const first = partitioner.makeAhead(plan, 20_000)
  await expect.poll(waiting).toHaveLength(1)
  const second = partitioner.makeAhead(plan, 20_000)
  await expect.poll(waiting).toHaveLength(2)
  await holder.query('commit')
  expect([await first, await second]).toEqual([3, 0])
})

test('a key without a partition of its time is found in the default one, and forgotten there later', async () => {
  const db = await migratedDatabase()
  await partition(db.url)
  await db.query('alter table idempotency_keys detach partition idempotency_keys_before')
  const operation = aged(5)
  await settled(db.keys, operation, '"found"')
  expect(await db.contents()).toEqual({ idempotency_keys_default: [operation.key] })
  expect(await db.keys.read(operation)).toMatchObject({ status: 'settled', outcome: { result: '"found"' } })
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toEqual({ ...NOTHING, made: 2, raised: true })
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toEqual(NOTHING)
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ deleted: 1 })
  expect(await db.contents()).toEqual({})
})

test('no partition is made for keys that the default one has', async () => {
  const db = await migratedDatabase()
  await partition(db.url)
  await db.query('alter table idempotency_keys detach partition idempotency_keys_before')
  const present = newOperation()
  await settled(db.keys, present)
  expect(await maintainPartitions(db.partitioned(), { ahead: 2 })).toMatchObject({ made: 2 })
  expect(await db.contents()).toEqual({ idempotency_keys_default: [present.key] })
  const tomorrow = newOperation({ ageMs: -DAY })
  await db.query(
    `insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    values ($1, 'alice', 'pay', '\\x01', 'released', 1, 1, now())`,
    [tomorrow.key],
  )
  expect((await db.contents())['idempotency_keys_default']).toEqual([present.key])
})

test('a partition is dropped once all its keys are below a watermark that stood for a margin', async () => {
  const db = await partitionedDatabase()
  const [old, young] = [aged(5), aged(2)]
  for (const operation of [old, young]) await settled(db.keys, operation)
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 0, raised: true })
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 0, raised: false })
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 7, left: 0, deleted: 0 })
  expect(await db.contents()).toEqual({ hour_2: [young.key] })
  expect(await db.names()).toEqual(expect.arrayContaining(['hour_0', 'hour_1', 'hour_2', 'hour_3']))
})

test('a key whose partition was dropped is never claimed again, in either mode', async () => {
  const db = await partitionedDatabase()
  const operation = aged(5)
  await settled(db.keys, operation)
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 7 })
  // With the retention of a day, of which the key is young.
  const claim = await db.keys.transaction(BOUNDS, (transaction) => transaction.claim(operation, 2))
  expect(claim).toMatchObject({ kind: 'lost', found: { status: 'absent', age: 'too old' } })
  expect(await db.leases.claim(operation, 2, TERMS)).toEqual({ kind: 'lost' })
  expect(await db.leases.takeOver(operation, TERMS)).toEqual({ kind: 'lost' })
})

test('a lease that lives keeps its partition and its points, and what is forgotten beside it goes', async () => {
  const db = await partitionedDatabase()
  const [living, forgotten] = [aged(5), aged(5)]
  await db.leases.claim(living, 1, TERMS)
  await db.leases.record(held(living, 1), 'charge', '1')
  await settled(db.keys, forgotten)
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 6, left: 1, deleted: 1 })
  expect(await db.contents()).toEqual({ hour_5: [living.key] })
  expect(await db.leases.points(living)).toEqual([{ name: 'charge', result: '1', fence: 1 }])
  expect(await db.leases.settle(held(living, 1), { kind: 'value', result: '2' })).toBe(true)
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 1, left: 0 })
  expect(await db.query('select 1 from idempotency_recovery_points')).toEqual([])
})

test('what is left for a person to decide keeps its partition', async () => {
  const db = await partitionedDatabase()
  const left = aged(5)
  await db.leases.claim(left, 1, { ...TERMS, onUnknown: 'manual' })
  await endLease(db, left)
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 6, left: 1 })
  expect(await db.leases.resolveAbandoned(left, { kind: 'value', result: '1' } as never)).toBe(true)
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 1, left: 0 })
})

test('recovery points go with the partition of their operations, settled or not, and no others do', async () => {
  const db = await partitionedDatabase()
  const [done, released, abandoned, young] = [aged(5), aged(5), aged(6), aged(2)]
  for (const operation of [done, released, abandoned, young]) {
    await db.leases.claim(operation, 1, TERMS)
    await db.leases.record(held(operation, 1), 'charge', '1')
  }
  await db.leases.settle(held(done, 1), { kind: 'value', result: '1' })
  await db.leases.release(held(released, 1))
  await endLease(db, abandoned)
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 7, left: 0 })
  expect(await db.query('select key from idempotency_recovery_points')).toEqual([{ key: young.key }])
})

test('the points of what was released go with its partition and not before, or a retry would do them again', async () => {
  const db = await partitionedDatabase()
  const released = aged(5)
  await db.leases.claim(released, 1, TERMS)
  await db.leases.record(held(released, 1), 'charge', '1')
  await db.leases.release(held(released, 1))
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  const busy = await db.connect()
  await busy.query('begin; select 1 from hour_5 for update')
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 6, left: 1, deleted: 0 })
  expect(await db.leases.points(released)).toEqual([{ name: 'charge', result: '1', fence: 1 }])
  await busy.query('commit')
  expect(await db.leases.takeOver(released, TERMS)).toMatchObject({ kind: 'won', fence: 2 })
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 0, left: 1 })
  expect(await db.leases.points(released)).toHaveLength(1)
})

test('a claim that is late is not overtaken by the drop of its partition, and is refused by its settle', async () => {
  const db = await partitionedDatabase()
  const late = aged(5)
  let settle: unknown
  let raised: () => void = () => undefined
  const watermarkRaised = new Promise<void>((resolve) => {
    raised = resolve
  })
  let arrived: () => void = () => undefined
  const claimed = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const running = db.keys.transaction(BOUNDS, async (transaction) => {
    const { fence } = await won(transaction, late)
    arrived()
    await watermarkRaised
    settle = await transaction.settle(late, fence, { kind: 'value', result: '1' })
    throw new Error('too old')
  })
  await claimed
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  // Of those that hold nothing none can be dropped either: the claim uses the table.
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 0, left: 7, deleted: 0 })
  raised()
  await expect(running).rejects.toThrow('too old')
  expect(settle).toEqual({ kind: 'too old' })
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 7, left: 0 })
  expect(await db.contents()).toEqual({})
})

test('a takeover between the look at a partition and its drop is not lost', async () => {
  const db = await partitionedDatabase()
  const released = aged(5)
  await db.leases.claim(released, 1, TERMS)
  await db.leases.release(held(released, 1))
  let takeover: Promise<unknown> | undefined
  const over = async () => {
    let ended = false
    takeover ??= db.leases.takeOver(released, TERMS).finally(() => {
      ended = true
    })
    const waits = () => db.query('select 1 from pg_locks where not granted')
    await expect.poll(async () => ended || (await waits()).length > 0).toBe(true)
  }
  const sql = withHook(db.sql, async (statement) => {
    if (statement.includes('detach partition')) await over()
  })
  const partitioner = sqlPartitioner(sql, { schema: undefined, retentionMs: 3 * HOUR })
  await partitioner.raiseWatermark()
  await db.marginPasses()
  const forgotten = (await partitioner.partitions())?.forgotten.find(({ name }) => name === 'public.hour_5')
  if (forgotten === undefined) return expect.fail('hour_5 is not forgotten')
  expect(await partitioner.drop(forgotten, 100)).toBe('in use')
  expect(await takeover).toMatchObject({ kind: 'won', fence: 2 })
  expect(await partitioner.drop(forgotten, 100)).toBe('kept')
  expect(await db.contents()).toEqual({ hour_5: [released.key] })
})

test('a drop whose process goes silent keeps nobody waiting for long', async () => {
  const db = await partitionedDatabase()
  let seen: unknown
  const sql = withHook(db.sql, async (statement, run) => {
    if (!statement.startsWith('drop table')) return
    seen = await run(`select current_setting('idle_in_transaction_session_timeout') as idle`, [])
  })
  const partitioner = sqlPartitioner(sql, { schema: undefined, retentionMs: 3 * HOUR })
  await partitioner.raiseWatermark()
  await db.marginPasses()
  const [oldest] = (await partitioner.partitions())?.forgotten ?? []
  if (oldest === undefined) return expect.fail('nothing is forgotten')
  expect(await partitioner.drop(oldest, 100)).toBe('dropped')
  expect(seen).toEqual([{ idle: '5s' }])
})

test('a drop gives up where a transaction does not end, and others work before and after it', async () => {
  const db = await partitionedDatabase()
  await settled(db.keys, aged(5))
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  const long = newOperation()
  const open = await openTransaction(db.keys, async (transaction) => {
    const { fence } = await won(transaction, long)
    await transaction.settle(long, fence, { kind: 'value', result: '1' })
  })
  const call = maintainPartitions(db.partitioned(3), HOURLY)
  let ended = false
  const others = (async () => {
    let n = 0
    for (; !ended; n += 1) await settled(db.keys, newOperation())
    return n
  })()
  expect(await call).toMatchObject({ dropped: 0, left: 7, deleted: 0 })
  ended = true
  expect(await others).toBeGreaterThan(5)
  await open.commit()
  await db.marginPasses()
  expect(await maintainPartitions(db.partitioned(3), HOURLY)).toMatchObject({ dropped: 7, left: 0 })
  expect(await db.keys.read(long)).toMatchObject({ status: 'settled' })
})

test('an attempt that waits while a partition is dropped finds the table as it is then', async () => {
  const db = await partitionedDatabase()
  await maintainPartitions(db.partitioned(3), HOURLY)
  await db.marginPasses()
  const dropping = await db.connect()
  await dropping.query('begin; alter table idempotency_keys detach partition hour_9')
  const [first, old] = [newOperation(), aged(9)]
  const waiting = settled(db.keys, first, '"after"')
  const refused = db.keys.transaction(BOUNDS, (transaction) => transaction.claim(old, 1))
  await expect
    .poll(() => db.query(`select 1 from pg_locks where not granted and relation = 'idempotency_keys'::regclass`))
    .toHaveLength(2)
  await dropping.query('drop table hour_9; commit')
  await waiting
  expect(await refused).toMatchObject({ kind: 'lost', found: { status: 'absent', age: 'too old' } })
  expect(await db.keys.read(first)).toMatchObject({ status: 'settled' })
  expect(await db.contents()).toEqual({ hour_0: [first.key] })
})

test('a table that is not partitioned is left alone, and the complaint names the script', async () => {
  const db = await migratedDatabase()
  await expect(maintainPartitions(db.partitioned())).rejects.toThrow(
    'maintainPartitions: the table idempotency_keys has no default partition. Partition it first, by prisma/partitioning/partition.sql',
  )
  expect(await db.query(`select raised_at::text from idempotency_watermark`)).toEqual([{ raised_at: '-infinity' }])
})

test.each([
  [{ partitionMs: 1000 }, 'maintainPartitions: partitionMs must be at least 60000, got 1000'],
  [{ partitionMs: 60_001 }, 'maintainPartitions: partitionMs must be whole minutes, got 60001'],
  [{ ahead: 0 }, 'maintainPartitions: ahead must be at least 1, got 0'],
  [{ lockMs: 0 }, 'maintainPartitions: lockMs must be at least 1, got 0'],
])('%j is refused', async (options, complaint) => {
  const db = await migratedDatabase()
  await expect(maintainPartitions(db.partitioned(), options)).rejects.toThrow(complaint)
})

/** The same database, which asks before each statement of a transaction. */
function withHook(sql: PartitionedDatabase['sql'], before: (statement: string, run: RunSql) => Promise<void>) {
  const hooked: typeof sql = {
    ...sql,
    transaction: (options, body) =>
      sql.transaction(options, (open) =>
        body({
          ...open,
          async run<Row>(statement: string, parameters: Parameters<RunSql>[1]) {
            await before(statement, open.run)
            return open.run<Row>(statement, parameters)
          },
        }),
      ),
  }
  return hooked
}
