import { readdirSync } from 'node:fs'
import path from 'node:path'
import { TRPCError } from '@trpc/server'
import { sweepOnce } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { tablesIn } from '../../server/store/sql/tables.js'
import { prepared } from '../support/adapterOf.js'
import { clientOf } from '../support/clientOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { authed, shopIdempotency, t } from '../support/shop.js'
import { proceduresHaveErrors } from '../support/trpcVersion.js'

// A pooler in transaction mode gives each transaction another session: what one of ours left in a session would be met
// by a stranger, and what it counts on would be gone. `npm run test:pgbouncer` runs the tests behind one.

const db = useDatabase()

/** What outlives a transaction. */
const SESSION_STATE =
  /^\s*(set|reset|discard|listen|unlisten|notify|load|prepare|execute|deallocate|declare)\b|advisory|create\s+temp|pg_notify|with hold/i

test('no statement of the store sets, locks, prepares or listens to anything that outlives its transaction', async () => {
  const statements = await allStatements()
  expect(statements.size).toBeGreaterThan(19)
  for (const [name, sql] of statements) {
    expect({ name, found: SESSION_STATE.exec(sql)?.[0] }).toEqual({ name, found: undefined })
    // The third argument says whether a setting ends with the transaction.
    const ends = [...sql.matchAll(/set_config\(/g)].map(({ index }) => lastArgument(sql.slice(index)))
    expect({ name, ends }).toEqual({ name, ends: ends.map(() => 'true') })
  }
})

test('a session that everything was done in is left as it was found', async () => {
  // Direct and one at a time: it is the session that is looked at, by itself.
  const prisma = clientOf(db.directUrl, 1)
  const look = () =>
    prisma.$queryRawUnsafe<{ backend: number; state: string[] }[]>(`
      select pg_backend_pid() as backend, array(
        select name || ' = ' || setting from pg_settings where source = 'session'
        union all select 'prepared ' || statement from pg_prepared_statements where ${prepared ? "name not like 'trpc_idempotency_%'" : 'true'}
        union all select 'listens to ' || channel from pg_listening_channels() as channel
        union all select 'holds ' || locktype from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
        union all select 'has ' || relname from pg_class where relpersistence = 't'
        order by 1
      ) as state`)
  const before = await look()
  expect(before).toHaveLength(1)

  const idempotency = shopIdempotency(prisma, { claimWaitMs: 50, waitMs: 200 })
  let runs = 0
  const final = new TRPCError({ code: 'FORBIDDEN' })
  const router = t.router({
    create: idempotency.transaction(authed).mutation(() => 'done'),
    refuse: idempotency
      .transaction(authed, proceduresHaveErrors ? { storeError: () => true } : {})
      .mutation(() => Promise.reject(final)),
    pay: idempotency.lease(authed, { leaseMs: 500 }).mutation(async ({ ctx: { idempotency: lease } }) => {
      runs += 1
      await lease.recoveryPoint('charge', () => 'charged')
      await lease.recoveryPoint.tx('record', async (tx) => (await tx.order.count()) + 1)
      if (runs === 1) throw new Error('released, and taken over by the next attempt')
      // Until it was renewed at least once.
      const [row] = await db.keys()
      await expect.poll(async () => (await db.keys())[0]?.lease_expires_at).not.toEqual(row?.lease_expires_at)
      return 'paid'
    }),
  })
  const url = await serve(router)
  const lease = { path: 'pay', key: v7({ msecs: Date.now() - 60_000 }) }
  expect((await rawCall(url, lease)).status).toBe(500)
  expect((await rawCall(url, { ...lease, attempt: 2 })).data).toBe('paid')
  const create = { path: 'create', key: v7() }
  for (const attempt of [1, 1, 2]) expect((await rawCall(url, { ...create, attempt })).data).toBe('done')
  for (const attempt of [1, 2]) await rawCall(url, { path: 'refuse', key: create.key.replace(/.$/, '0'), attempt })
  expect(said(await claimWhileHeld(url))).toMatchObject({ reason: 'IN_FLIGHT' })
  await idempotency.status({ scope: 'alice', key: create.key })
  await expect(idempotency.resolve({ scope: 'alice', key: create.key, result: 1 })).rejects.toThrow()
  await expect(idempotency.release({ scope: 'alice', key: create.key })).rejects.toThrow()
  await sweepOnce(idempotency)

  expect(await look()).toEqual(before)
})

/** Claims a key that another transaction holds, so that lock_timeout ends the claim and its transaction. */
async function claimWhileHeld(url: string) {
  const key = v7()
  const holder = await db.connect()
  await holder.query('begin')
  await holder.query(
    `insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
    values ($1, 'alice', 'create', '\\x01', 'in_flight', 1, 1, now())`,
    [key],
  )
  const answer = await rawCall(url, { path: 'create', key })
  await holder.query('rollback')
  holder.release()
  return answer
}

/** Every statement that the files of server/store/sql make, by its name. */
async function allStatements(): Promise<Map<string, string>> {
  const folder = path.resolve(import.meta.dirname, '../../server/store/sql')
  const statements = new Map<string, string>()
  for (const file of readdirSync(folder)) {
    const exported = (await import(path.join(folder, file))) as Record<string, unknown>
    for (const [name, value] of Object.entries(exported)) {
      const made: unknown = typeof value === 'function' && name === file.slice(0, -3) ? value(tablesIn('s')) : value
      if (typeof made === 'string') statements.set(name, made)
    }
  }
  return statements
}

/** The last argument of the call that a text begins with. */
function lastArgument(text: string): string | undefined {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '(') depth += 1
    if (text[at] === ')') depth -= 1
    if (depth === 0 && text[at] === ')') return text.slice(0, at).split(',').at(-1)?.trim()
  }
  return undefined
}
