import { type Direct, startRides, type TakenRide, takeRide, type WaitingRide } from '../ride.js'
import { ClosingFailed, type Statement } from '../sqlDatabase.js'
import { type PgPool, runDirectly } from './runDirectly.js'
import { type PgClient, type SendOptions, StatementFailed, sendTogether } from './sendTogether.js'

/** A driver adapter factory of Prisma, such as PrismaPg. */
export interface AdapterFactory {
  connect(): Promise<object>
}

/** The part of a driver adapter that is called. */
interface Adapter {
  startTransaction(isolationLevel?: string): Promise<Transaction>
  underlyingDriver?(): unknown
}

interface Query {
  sql: string
}

interface Transaction {
  options: { usePhantomQuery?: boolean }
  executeRaw(query: Query): Promise<number>
  queryRaw(query: Query): Promise<unknown>
}

interface Pool extends PgPool {
  connect(): Promise<PgClient>
}

/**
 * Lets the claim of a key travel with BEGIN, and its settle with COMMIT: two round trips less for each mutation in
 * transaction mode, and two queries less through Prisma's runtime. Give it what PrismaClient is given as its adapter:
 * `new PrismaClient({ adapter: withIdempotency(new PrismaPg(...)) })`. What is promised stays the same; whatever else the
 * client does passes through. With an adapter that is not node-postgres' (`@prisma/adapter-pg`) it changes nothing.
 *
 * @param factory an adapter factory, as PrismaClient takes it
 * @param options.prepare whether the library's own statements are prepared once for each connection, under names: Postgres
 *   then plans them once. Left out they are not, which every pooler can do with. PgBouncer in transaction mode can do with
 *   names from version 1.21, where `max_prepared_statements` is above 0.
 */
export function withIdempotency<Factory extends AdapterFactory>(
  factory: Factory,
  { prepare = false }: { prepare?: boolean } = {},
): Factory {
  startRides()
  return Object.assign(Object.create(factory) as Factory, {
    connect: async () => carrying((await factory.connect()) as Adapter, { prepare }),
  })
}

function carrying(adapter: Adapter, options: SendOptions): Adapter {
  const pool = adapter.underlyingDriver?.()
  if (!isPool(pool)) return adapter
  const run = runDirectly(pool, options)
  const direct = () => (pool.ending === true ? undefined : run)
  return Object.assign(Object.create(adapter) as Adapter, {
    startTransaction(isolationLevel?: string): Promise<Transaction> {
      const ride = takeRide()
      if (ride === undefined) return adapter.startTransaction(isolationLevel)
      return startWith(ride, { adapter, pool, direct, isolationLevel, options })
    },
  })
}

function isPool(driver: unknown): driver is Pool {
  return typeof (driver as Partial<Pool> | undefined)?.connect === 'function'
}

/**
 * Has the adapter open its transaction as ever, on a connection that keeps its BEGIN back until the opening is there to go
 * with it. An adapter that takes its connection from somewhere else has sent BEGIN by itself: then nothing rides.
 */
async function startWith(
  ride: WaitingRide,
  {
    adapter,
    pool,
    direct,
    isolationLevel,
    options,
  }: { adapter: Adapter; pool: Pool; direct: Direct; isolationLevel: string | undefined; options: SendOptions },
): Promise<Transaction> {
  let held: HeldBack | undefined
  const starting = Object.assign(Object.create(adapter) as Adapter, {
    client: {
      async connect() {
        held = holdBack(await pool.connect())
        return held.client
      },
    },
  })
  const transaction = (await Reflect.apply(adapter.startTransaction, starting, [isolationLevel])) as Transaction
  if (held === undefined) return transaction
  const { client, release } = held
  const begin = release().map((sql) => ({ sql, parameters: [] }))
  const opened = sendTogether(client, [...begin, ride.opening], options).then(
    (sent) => sent.at(-1)?.rows ?? [],
    (error: unknown) => Promise.reject(error instanceof StatementFailed ? error.cause : error),
  )
  // Else Prisma ends it by a method of the adapter, and COMMIT is never seen.
  const closes = transaction.options.usePhantomQuery === false
  const taken = ride.begin(opened, { closes, direct })
  return riding(transaction, taken, { client, options })
}

interface Connection {
  client: PgClient
  options: SendOptions
}

interface HeldBack {
  client: PgClient
  /** Gives what was kept back; from now on the client sends what it is given. */
  release(): string[]
}

function holdBack(client: PgClient): HeldBack {
  const own = Object.getOwnPropertyDescriptor(client, 'query')
  const kept: string[] = []
  client.query = async ({ text }: { text: string }) => {
    kept.push(text)
    return { rows: [], fields: [], rowCount: 0 }
  }
  return {
    client,
    release() {
      if (own === undefined) Reflect.deleteProperty(client, 'query')
      else Object.defineProperty(client, 'query', own)
      return kept
    },
  }
}

/** Counts what runs in a transaction, and sends the closing with its COMMIT. */
function riding(transaction: Transaction, taken: TakenRide, connection: Connection): Transaction {
  const { executeRaw, queryRaw } = transaction
  return Object.assign(transaction, {
    queryRaw(query: Query): Promise<unknown> {
      taken.seen += 1
      return Reflect.apply(queryRaw, transaction, [query])
    },
    executeRaw(query: Query): Promise<number> {
      if (query.sql === 'COMMIT' && taken.closing !== undefined) return commit(taken, taken.closing, connection)
      taken.seen += 1
      return Reflect.apply(executeRaw, transaction, [query])
    },
  })
}

/** Postgres runs the two one after the other, and no COMMIT after a closing that failed. */
async function commit(taken: TakenRide, closing: Statement, { client, options }: Connection): Promise<number> {
  taken.closingSent = true
  try {
    const sent = await sendTogether(client, [closing, { sql: 'COMMIT', parameters: [] }], options)
    // A transaction in which something had failed: Postgres says so by nothing but the name of what it did.
    if (sent.at(-1)?.tag !== 'COMMIT') throw new StatementFailed(0, new Error('Postgres answered COMMIT by a rollback'))
    return 0
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    // COMMIT itself failed. Prisma tells of that, as ever.
    if (error.at > 0) throw error.cause
    // The transaction is open still, and its connection would go back to the pool like that.
    await client.query({ text: 'ROLLBACK' }).catch(() => undefined)
    const { code } = error.cause as { code?: string }
    taken.failure = new ClosingFailed('the statement that went with COMMIT failed', {
      cause: error.cause,
      sqlState: code,
    })
    throw taken.failure
  }
}
