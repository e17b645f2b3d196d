import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { v7 } from 'uuid'
import { onTestFinished } from 'vitest'
import { PrismaClient } from '../../../generated/prisma/client.js'
import type { TestDatabase } from '../../support/database/testDatabase.js'
import { type DatabaseProxy, startDatabaseProxy } from '../../support/databaseProxy.js'
import { serve } from '../../support/httpServer.js'
import { disconnect, endPool } from '../../support/prismaVersion.js'
import { type Answer, rawCall, said } from '../../support/rawCall.js'
import { authed, shopIdempotency, t } from '../../support/shop.js'

export type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0]

/** What a row of the table can set in motion. */
export interface Stage {
  db: TestDatabase
  /** Between the application's pool and the database. */
  proxy: DatabaseProxy
  /** The application's own. */
  pool: pg.Pool
  /** The key of the call. */
  key: string
  /** A session beside the application, until the test ends. */
  other(): Promise<pg.PoolClient>
  /** Resolves when the application has noticed that a connection of its pool ended. */
  connectionEnded: Promise<void>
  /** Waits until the database has a session of which this holds: a condition on `pg_stat_activity`. */
  until(condition: string): Promise<void>
}

/** How the application is connected, and what the library is told. */
export interface Wiring {
  pool?: pg.PoolConfig
  options?: object
  /** Changes the address of the database. */
  address?(url: URL): void
}

export interface Scene extends Wiring {
  /** Before the call. */
  before?(stage: Stage): Promise<void>
  /** Asks Prisma itself, where the library keeps the error from whoever could look at it. */
  aside?(prisma: PrismaClient): Promise<unknown>
  /** Which of the errors, counted from 0: the first. */
  looksAt?: number
  /** What the first run of the handler does with `ctx.tx`. */
  inHandler?(tx: Tx, stage: Stage): Promise<unknown>
}

/** What came of a call. */
export interface Played {
  /** An error that Prisma gave to whoever asked it: the handler, or the library. */
  error: unknown
  answer: Answer
  /** How often the handler ran. */
  runs: number
  said: unknown
}

/** Calls an idempotent mutation over HTTP, on a real database, and lets happen to it what the scene says. */
export async function play(
  { before, aside, looksAt = 0, inHandler, ...wiring }: Scene,
  db: TestDatabase,
): Promise<Played> {
  const key = v7()
  const { stage, prisma } = await setStage(wiring, { db, key })
  const errors: unknown[] = []
  let runs = 0
  const router = t.router({
    create: shopIdempotency(observed(prisma, errors), wiring.options)
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        runs += 1
        if (runs === 1) await inHandler?.(ctx.tx, stage)
        return 'done'
      }),
  })
  const url = await serve(router)
  await before?.(stage)
  await aside?.(prisma).catch((error: unknown) => errors.push(error))
  const answer = await rawCall(url, { path: 'create', key })
  return { error: errors[looksAt], answer, runs, said: said(answer) }
}

async function setStage({ pool: config, address }: Wiring, { db, key }: { db: TestDatabase; key: string }) {
  // What a session begins with, its settings or its role, a pooler refuses or answers for itself.
  const beginsOwn = config?.options !== undefined || address !== undefined
  const proxy = await startDatabaseProxy(beginsOwn ? db.directUrl : db.url)
  const url = new URL(proxy.url)
  address?.(url)
  const pool = new pg.Pool({ connectionString: url.href, max: 2, ...config })
  const connectionEnded = new Promise<void>((resolve) => {
    pool.on('connect', (client) => {
      client.on('error', () => undefined)
      client.once('end', resolve)
    })
  })
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) })
  onTestFinished(async () => {
    await disconnect(prisma)
    await endPool(pool)
  })
  const stage: Stage = {
    ...{ db, proxy, pool, key, connectionEnded },
    async other() {
      const session = await db.connect()
      onTestFinished(() => session.release(true))
      return session
    },
    async until(condition) {
      for (;;) {
        const found = await db.query(
          `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${condition}`,
        )
        if (found.length > 0) return
      }
    },
  }
  return { stage, prisma }
}

/** The same client, with every error that it gives noted down as it is. */
function observed(prisma: PrismaClient, errors: unknown[]): PrismaClient {
  const noting = async <T>(promise: Promise<T>): Promise<T> => {
    try {
      return await promise
    } catch (error) {
      errors.push(error)
      throw error
    }
  }
  return prisma.$extends({
    client: {
      $transaction(...args: unknown[]): Promise<unknown> {
        return noting(Reflect.apply(prisma.$transaction, this, args))
      },
    },
    query: {
      $allOperations: ({ args, query }) => noting(query(args)),
    },
  }) as unknown as PrismaClient
}
