import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { BY, type By, beforeCommit, ONE, TWO } from './scenes.js'
import type { Scene, Stage, Tx } from './stage.js'

const backendOf = async (tx: Tx) => {
  const [row] = await tx.$queryRaw<{ pid: number }[]>`select pg_backend_pid() as pid`
  return row?.pid ?? 0
}

const terminate = ({ db }: Stage, pid: number) => db.query('select pg_terminate_backend($1)', [pid])

/** An operator, or a restart, ends the session while it waits for the handler. */
export const killedIdle = (then: (tx: Tx) => unknown): Scene => ({
  async inHandler(tx, stage) {
    await terminate(stage, await backendOf(tx))
    await stage.connectionEnded
    await then(tx)
  },
})

/** The same while a query runs. */
export const killedInQuery = (by: By): Scene => ({
  async inHandler(tx, stage) {
    const pid = await backendOf(tx)
    const holder = await stage.other()
    await holder.query(`begin; update orders set cents = 0 where id = ${ONE}`)
    const running = Promise.resolve(BY[by].change(tx, ONE))
    await Promise.all([
      running,
      stage.until(`pid = ${pid} and wait_event_type = 'Lock'`).then(() => terminate(stage, pid)),
    ])
  },
})

/** The same while COMMIT is on its way: it did not take effect, and nobody can know. */
export const killedAtCommit: Scene = {
  async inHandler(tx, stage) {
    const pid = await backendOf(tx)
    beforeCommit(stage.proxy, () => terminate(stage, pid))
  },
}

/** The database ends a transaction in which nothing was asked for too long. */
export const idleTooLong = (then: (tx: Tx) => unknown): Scene => ({
  async inHandler(tx, { connectionEnded }) {
    await tx.$executeRaw`set local idle_in_transaction_session_timeout = '50ms'`
    await connectionEnded
    await then(tx)
  },
})

/** The network ends the connection at the round trip of this name. */
export const cut = (
  at: (statement: string) => boolean,
  how: { moment: 'before' | 'after'; end?: 'cut' | 'reset' },
  by?: By,
): Scene => ({
  async before({ proxy }) {
    let done = false
    proxy.hook = ({ statements }, moment) => {
      if (done || moment !== how.moment || !statements.some((statement) => at(statement.trim()))) return 'pass'
      done = true
      return how.end ?? 'cut'
    }
  },
  ...(by !== undefined && { inHandler: (tx: Tx) => Promise.resolve(BY[by].change(tx, TWO)) }),
})

/** A partner's database, which cannot be reached from this one. */
export const foreignServer: Scene = {
  async before({ db }) {
    await db.query(`
      create extension if not exists postgres_fdw;
      create server if not exists partner foreign data wrapper postgres_fdw options (host '127.0.0.1', port '1');
      create user mapping if not exists for current_user server partner options (user 'x', password 'x');
      create foreign table if not exists partner_orders (id int) server partner`)
  },
  inHandler: (tx) => tx.$queryRaw`select id from partner_orders`,
}

/** Somebody else has the only connection of the pool. */
export const exhaustedPool = ({
  maxWaitMs,
  ...pool
}: {
  maxWaitMs: number
  connectionTimeoutMillis?: number
}): Scene => ({
  pool: { max: 1, ...pool },
  options: { maxWaitMs },
  async before({ pool: applications }) {
    const taken = await applications.connect()
    onTestFinished(() => taken.release())
  },
})

/** Nobody listens at this port. */
export const nowhere: Scene = {
  address(url) {
    url.port = '1'
  },
}

/** A role that has as many connections as it may. Roles are the server's, and not the test's database's. */
const ROLE = `full_${randomBytes(6).toString('hex')}`

export const fullRole: Scene = {
  address(url) {
    url.username = ROLE
    url.password = ROLE
  },
  async before({ db }) {
    await db.query(`create role ${ROLE} login password '${ROLE}' connection limit 0`)
    onTestFinished(async () => void (await db.query(`drop role ${ROLE}`)))
  },
}
