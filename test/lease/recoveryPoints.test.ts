import type { LeaseContext, LeaseOptions } from 'trpc-idempotency/server'
import { v7, validate, version } from 'uuid'
import { expect, test } from 'vitest'
import type { Prisma } from '../../generated/prisma/client.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { charge, startProvider } from '../support/provider.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

type Lease = LeaseContext<Prisma.TransactionClient>

async function pay(handle: (lease: Lease, run: number) => unknown, options: LeaseOptions = {}) {
  let run = 0
  const router = t.router({
    pay: shopIdempotency(db.prisma)
      .lease(authed, options)
      .mutation(({ ctx }) => {
        run += 1
        return handle(ctx.idempotency, run)
      }),
  })
  const url = await serve(router)
  const key = v7()
  return { key, call: (attempt = 1) => rawCall(url, { path: 'pay', key, attempt }) }
}

/** What a provider of records keeps: the points of one key, in their order. */
async function pointsOf(key: string) {
  return db.query('select name, result, fence from idempotency_recovery_points where key = $1 order by created_at', [
    key,
  ])
}

async function ordersOf(customer: string) {
  return (await db.orders()).filter((order) => order.customer === customer)
}

test('a recorded point is not run again: later attempts are given its result', async () => {
  const ran: string[] = []
  const { key, call } = await pay(async ({ recoveryPoint }, run) => {
    const first = await recoveryPoint('first', () => {
      ran.push(`first in run ${run}`)
      return { at: run }
    })
    const second = await recoveryPoint('second', () => {
      ran.push(`second in run ${run}`)
      if (run === 1) throw new Error('not yet')
      return { at: run }
    })
    return [first, second]
  })
  expect((await call()).status).toBe(500)
  expect((await call(2)).data).toEqual([{ at: 1 }, { at: 2 }])
  expect(ran).toEqual(['first in run 1', 'second in run 1', 'second in run 2'])
  expect(await pointsOf(key)).toEqual([
    { name: 'first', result: '{"at":1}', fence: 1 },
    { name: 'second', result: '{"at":2}', fence: 2 },
  ])
})

test('the derived key is a UUIDv7, the same in every attempt, another for each point, and that of ctx.idempotency.derivedKey', async () => {
  const keys: string[][] = []
  const { call } = await pay(async ({ recoveryPoint, derivedKey }, run) => {
    const seen: string[] = [derivedKey('charge')]
    keys.push(seen)
    await recoveryPoint('mail', ({ key }) => seen.push(key)).catch(() => undefined)
    await recoveryPoint('charge', ({ key }) => {
      seen.push(key)
      if (run === 1) throw new Error('again')
    })
  })
  await call()
  await call(2)
  const [[derived, mail, first] = [], [, again] = []] = keys
  expect(first).toBe(derived)
  expect(again).toBe(first)
  expect(mail).not.toBe(first)
  for (const key of [mail, first]) expect([validate(key), version(key ?? '')]).toEqual([true, 7])
})

test('a point gives what was recorded, the first time too: undefined, and values that the serializer carries', async () => {
  const seen: unknown[] = []
  const { call } = await pay(async ({ recoveryPoint }) => {
    seen.push(await recoveryPoint('nothing', () => undefined), await recoveryPoint('date', () => new Date(0)))
  })
  await call()
  expect(seen).toEqual([undefined, '1970-01-01T00:00:00.000Z'])
})

test('what a point in a transaction wrote commits together with its record', async () => {
  const { key, call } = await pay(async ({ recoveryPoint }, run) => {
    const order = await recoveryPoint.tx('record', (tx) =>
      tx.order.create({ data: { customer: 'with record', item: `run ${run}`, cents: 1 } }),
    )
    if (run === 1) throw new Error('after the record')
    return order.item
  })
  expect((await call()).status).toBe(500)
  expect((await call(2)).data).toBe('run 1')
  expect(await ordersOf('with record')).toEqual([{ customer: 'with record', item: 'run 1', cents: 1 }])
  expect((await pointsOf(key)).map(({ name }) => name)).toEqual(['record'])
})

test('a point in a transaction that fails leaves neither data nor record, and its error is the handler’s', async () => {
  const { key, call } = await pay(async ({ recoveryPoint }, run) => {
    await recoveryPoint.tx('record', async (tx) => {
      await tx.order.create({ data: { customer: 'fails', item: `run ${run}`, cents: 1 } })
      if (run === 1) throw new Error('no stock')
    })
  })
  expect((await call()).error?.message).toBe('no stock')
  expect([await ordersOf('fails'), await pointsOf(key)]).toEqual([[], []])
  expect((await call(2)).status).toBe(200)
  expect(await ordersOf('fails')).toHaveLength(1)
})

test('a query that a point’s function swallowed or left floating does not pass for a record', async () => {
  const { key, call } = await pay(async ({ recoveryPoint }) => {
    await recoveryPoint.tx('record', async (tx) => {
      await tx.order.create({ data: { customer: 'swallows', item: 'x', cents: 1 } })
      await tx.$executeRaw`select 1 / 0`.catch(() => undefined)
    })
  })
  expect(said(await call())).toMatchObject({ reason: 'STORE_UNAVAILABLE', attemptOutcome: 'UNKNOWN' })
  expect([await ordersOf('swallows'), await pointsOf(key)]).toEqual([[], []])
})

test('a serialization failure in a point’s transaction runs it again', async () => {
  let tries = 0
  const { call } = await pay(({ recoveryPoint }) =>
    recoveryPoint.tx('record', async (tx) => {
      tries += 1
      await tx.order.create({ data: { customer: 'conflict', item: `try ${tries}`, cents: 1 } })
      // As Postgres reports one.
      if (tries === 1) await tx.$executeRaw`do $$ begin raise exception 'conflict' using errcode = '40001'; end $$`
    }),
  )
  expect((await call()).status).toBe(200)
  expect((await ordersOf('conflict')).map(({ item }) => item)).toEqual(['try 2'])
})

const mistakes: [string, (lease: Lease, run: number) => Promise<unknown>, string][] = [
  [
    'two points of one name',
    async ({ recoveryPoint }) => {
      await recoveryPoint('charge', () => 1)
      await recoveryPoint('charge', () => 2)
    },
    `recovery point 'charge' was reached twice in one run`,
  ],
  [
    'two points at once',
    ({ recoveryPoint }) => Promise.all([recoveryPoint('a', () => 1), recoveryPoint('b', () => 2)]),
    `recovery point 'b' was reached while 'a' runs`,
  ],
  ['a point without a name', ({ recoveryPoint }) => recoveryPoint('', () => 1), 'a recovery point needs a name'],
  [
    'a result that cannot be recorded',
    ({ recoveryPoint }) => recoveryPoint('charge', () => ({ later: Promise.resolve(1) })),
    `the result of recovery point 'charge' holds a promise at later, so it cannot be recorded`,
  ],
]

test.each(mistakes)('%s: a clear error, and not a silent skip', async (_, handle, complaint) => {
  const { call } = await pay(handle)
  expect((await call()).error?.message).toContain(complaint)
})

test('a rerun that reaches other names, or in another order, than the record shows: a clear error', async () => {
  const { call } = await pay(async ({ recoveryPoint }, run) => {
    const names = [
      ['charge', 'mail', 'fail'],
      ['mail', 'charge'],
      ['charge', 'ship'],
      ['charge', 'mail', 'ship'],
    ][run - 1]
    for (const name of names ?? []) {
      await recoveryPoint(name, () => {
        if (name === 'fail') throw new Error('once')
      })
    }
    return 'done'
  })
  const messages: unknown[] = []
  for (const attempt of [1, 2, 3, 4]) messages.push((await call(attempt)).error?.message)
  expect(messages).toEqual([
    'once',
    expect.stringContaining(`recovery point 'mail' was reached where an earlier attempt had recorded 'charge'`),
    expect.stringContaining(`recovery point 'ship' was reached where an earlier attempt had recorded 'mail'`),
    undefined,
  ])
})

test('a holder that lost its lease reaches no further point, and records nothing', async () => {
  const provider = await startProvider()
  const errors: unknown[] = []
  const { key, call } = await pay(
    async ({ recoveryPoint }) => {
      const taken = () => db.query('update idempotency_keys set fence = 9 where key = $1', [key])
      await recoveryPoint('charge', async ({ key: derived }) => {
        await charge(provider.url, derived)
        await taken()
      }).catch((error: unknown) => errors.push(error))
      await recoveryPoint('mail', () => expect.fail('it ran')).catch((error: unknown) => errors.push(error))
      await recoveryPoint.tx('record', () => expect.fail('it ran')).catch((error: unknown) => errors.push(error))
    },
    { leaseMs: 60_000 },
  )
  expect(said(await call())).toEqual({ reason: 'LEASE_LOST', attemptOutcome: 'UNKNOWN' })
  await expect.poll(() => errors.length).toBe(3)
  for (const error of errors) expect(error).toMatchObject({ reason: 'LEASE_LOST' })
  expect(await pointsOf(key)).toEqual([])
})

test('a takeover that comes while a point’s transaction is open waits for its commit', async () => {
  let takeover: Promise<unknown> = Promise.resolve()
  const { key, call } = await pay(
    async ({ recoveryPoint }) => {
      const recorded = await recoveryPoint.tx('record', async (tx) => {
        await tx.order.create({ data: { customer: 'races', item: 'tea', cents: 1 } })
        await leaseEnds(key)
        takeover = takeOver(key)
        await expect
          .poll(() =>
            db.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`),
          )
          .toHaveLength(1)
        return 'recorded'
      })
      // The commit wakes it, and does not put it before others: the settle could come first, which would be right too.
      await takeover
      return recorded
    },
    { leaseMs: 500, renew: false, claimWaitMs: 400 },
  )
  const late = await call()
  // It committed under its fence, and only then lost it: whoever took over finds the record, and does not do it again.
  expect(said(late)).toEqual({ reason: 'LEASE_LOST', attemptOutcome: 'UNKNOWN' })
  expect(await ordersOf('races')).toHaveLength(1)
  expect(await pointsOf(key)).toEqual([{ name: 'record', result: '"recorded"', fence: 1 }])
})

test('a takeover that comes while a record is being written waits for it, and finds it', async () => {
  await db.query(`
    create function stall() returns trigger language plpgsql as $$
      begin
        if new.name = 'stalled' then perform pg_advisory_xact_lock(42); end if;
        return new;
      end $$;
    create trigger stall before insert on idempotency_recovery_points for each row execute function stall()`)
  const waiting = () =>
    db.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
  const gate = await db.connect()
  // A transaction's lock, not a session's: behind a pooler the next statement can have another session.
  await gate.query('begin; select pg_advisory_xact_lock(42)')
  const { key, call } = await pay(({ recoveryPoint }) => recoveryPoint('stalled', () => 1), { leaseMs: 60_000 })
  const running = call()
  await expect.poll(waiting).toHaveLength(1)
  let taken = false
  const takeover = db.query('update idempotency_keys set fence = fence + 1 where key = $1', [key]).then(() => {
    taken = true
  })
  // Both wait now: the record for the gate, the takeover for the record. Without its lock it would be through.
  await expect.poll(waiting).toHaveLength(2)
  expect(taken).toBe(false)
  await gate.query('commit')
  gate.release()
  await takeover
  // The holder settles, or has lost its lease by then: whichever of the two was faster.
  await running
  expect(await pointsOf(key)).toEqual([{ name: 'stalled', result: '1', fence: 1 }])
})

/** Lets the lease end; no statement may touch the row, for the point's transaction holds it: so time has to pass. */
async function leaseEnds(key: string): Promise<void> {
  await expect
    .poll(() =>
      db.query('select 1 from idempotency_keys where key = $1 and lease_expires_at <= clock_timestamp()', [key]),
    )
    .toHaveLength(1)
}

/** A takeover as another process does it. */
async function takeOver(key: string): Promise<unknown> {
  return db.query(
    `update idempotency_keys set fence = fence + 1, lease_expires_at = clock_timestamp() + interval '1 hour'
    where key = $1 and lease_expires_at <= clock_timestamp()`,
    [key],
  )
}
