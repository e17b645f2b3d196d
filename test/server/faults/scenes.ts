import { setTimeout as pause } from 'node:timers/promises'
import type { Verdict } from '../../support/databaseRelay.js'
import type { Scene, Stage, Tx } from './stage.js'

/** Two rows of `orders` that scenes fight over. */
export const ONE = 1001
export const TWO = 1002

/** The two ways in which a handler asks, and each has errors of its own shape. */
const raw = {
  change: (tx: Tx, id: number): PromiseLike<unknown> =>
    tx.$executeRaw`update orders set cents = cents + 1 where id = ${id}`,
  add: (tx: Tx, id: number): PromiseLike<unknown> =>
    tx.$executeRaw`insert into orders (id, customer, item, cents) values (${id}, 'x', 'x', 1)`,
}
const model: typeof raw = {
  change: (tx, id) => tx.order.update({ where: { id }, data: { cents: { increment: 1 } } }),
  add: (tx, id) => tx.order.create({ data: { id, customer: 'x', item: 'x', cents: 1 } }),
}
export const BY = { raw, model }
export type By = keyof typeof BY

/** Another transaction changed what this one has read. */
export const serialization = (by: By): Scene => ({
  options: { isolationLevel: 'RepeatableRead' },
  async inHandler(tx, { db }) {
    await tx.order.count()
    await db.query('update orders set cents = cents + 1 where id = $1', [ONE])
    await BY[by].change(tx, ONE)
  },
})

/** Two transactions that wait for each other; ours looks first, and is the one that Postgres ends. */
export const deadlock = (by: By): Scene => ({
  async inHandler(tx, { other, until }) {
    await tx.$executeRaw`set local deadlock_timeout = '10ms'`
    await BY.raw.change(tx, TWO)
    const rival = await other()
    await rival.query(`begin; set local deadlock_timeout = '60s'; update orders set cents = 0 where id = ${ONE}`)
    const waiting = rival.query(`update orders set cents = 0 where id = ${TWO}`)
    await until(`wait_event_type = 'Lock' and query like '%${TWO}'`)
    try {
      await BY[by].change(tx, ONE)
    } finally {
      await waiting
      await rival.query('rollback')
    }
  },
})

/** Does something when the application's next COMMIT has left it, and is not yet at the database. */
export function beforeCommit(proxy: Stage['proxy'], act: () => Promise<unknown>): void {
  proxy.hook = async ({ statements }, moment): Promise<Verdict> => {
    if (moment !== 'before' || !statements.includes('COMMIT')) return 'pass'
    proxy.hook = () => 'pass'
    await act()
    return 'pass'
  }
}

/** Write skew: each of two transactions reads what the other one writes. It is found when the second one commits. */
export const writeSkew: Scene = {
  options: { isolationLevel: 'Serializable' },
  async inHandler(tx, { other, proxy }) {
    await tx.$queryRaw`select sum(cents) from orders where id in (${ONE}, ${TWO})`
    const rival = await other()
    await rival.query(
      `begin isolation level serializable; select sum(cents) from orders where id in (${ONE}, ${TWO});
      update orders set cents = cents + 1 where id = ${TWO}`,
    )
    await BY.raw.change(tx, ONE)
    // Sooner, and our next statement would be told.
    beforeCommit(proxy, () => rival.query('commit'))
  },
}

/** A lock that is not granted, under a bound of the handler's own. */
export const heldRow = (by: By, bound: 'lock_timeout' | 'statement_timeout'): Scene => ({
  async inHandler(tx, { other }) {
    const holder = await other()
    await holder.query(`begin; update orders set cents = 0 where id = ${ONE}`)
    await tx.$executeRawUnsafe(`set local ${bound} = '50ms'`)
    await BY[by].change(tx, ONE)
  },
})

/** Another transaction holds the key, and does not end. */
export const heldKey = (wiring: Scene): Scene => ({
  ...wiring,
  async before({ other, key }) {
    const holder = await other()
    await holder.query(`begin; insert into idempotency_keys
      (key, scope, procedure, fingerprint, status, fence, attempts, claimed_at)
      values ('${key}', 'alice', 'create', '\\x01', 'in_flight', 1, 1, now())`)
  },
})

/** A handler that takes longer than its transaction may. */
export const tooSlow: Scene = {
  options: { timeoutMs: 300 },
  aside: (prisma) =>
    prisma.$transaction(
      async (tx) => {
        await pause(300)
        await tx.order.count()
      },
      { timeout: 100 },
    ),
  inHandler: () => pause(900),
}

/** A transaction that is over, and is used. */
export const overAlready: Scene = {
  async aside(prisma) {
    const left = await prisma.$transaction(async (tx) => ({ tx }))
    await left.tx.order.count()
  },
}

/** A statement of the handler fails, and it goes on. What the next one is told is looked at. */
export const swallowed = (then: (tx: Tx) => unknown): Scene => ({
  looksAt: 1,
  async inHandler(tx) {
    await tx.$queryRaw`select 1 / 0`.catch(() => undefined)
    await then(tx)
  },
})

/** A value of the application's own that has to be unique. */
export const notUnique = (by: By): Scene => ({ inHandler: (tx) => Promise.resolve(BY[by].add(tx, ONE)) })

/** The same, looked at by Postgres no sooner than at COMMIT. */
export const notUniqueAtCommit: Scene = {
  async before({ db }) {
    await db.query('create table if not exists deferred (id int unique deferrable initially deferred)')
    await db.query('insert into deferred select 1 where not exists (select from deferred)')
  },
  inHandler: (tx) => tx.$executeRaw`insert into deferred values (1)`,
}
