import { insideTransaction } from './openTransaction.js'
import { type Direct, offerRide } from './ride.js'
import type { Fault, IsolationLevel, RunSql, SqlDatabase, SqlParameter } from './sqlDatabase.js'

/** The part of a PrismaClient that is called; a client with extensions has it too. */
export interface PrismaLike {
  $transaction<Result>(
    // biome-ignore lint/suspicious/noExplicitAny: what a client hands out depends on its schema; TransactionClient finds it.
    body: (tx: any) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number; isolationLevel?: IsolationLevel },
  ): Promise<Result>
  $queryRawUnsafe<Result>(sql: string, ...parameters: unknown[]): Promise<Result>
}

/** What this client's `$transaction` hands to its callback. */
export type TransactionClient<Client> = Client extends {
  // biome-ignore lint/suspicious/noExplicitAny: any options fit; only the callback's parameter is looked at.
  $transaction<Result>(body: (tx: infer Tx) => Promise<Result>, ...options: any[]): Promise<Result>
}
  ? Tx
  : never

interface RawQueries {
  $queryRawUnsafe<Result>(sql: string, ...parameters: unknown[]): Promise<Result>
}

/** Speaks SQL through a PrismaClient. With `guardClient.ts`, which extends one, the only file that knows Prisma. */
export function prismaDatabase<Client extends PrismaLike>(prisma: Client): SqlDatabase<TransactionClient<Client>> {
  let direct: Direct | undefined
  // Inside a transaction it is for `guardClient` to say whether the client may be used.
  const past = () => (insideTransaction() === undefined ? direct?.() : undefined)
  return {
    run: (sql, parameters) => (past() ?? runOn(primaryOf(prisma)))(sql, parameters),
    transaction: ({ timeoutMs, maxWaitMs, isolationLevel, opening }, body) =>
      offerRide(opening, (ride) =>
        prisma.$transaction(
          (tx: TransactionClient<Client> & RawQueries) => {
            const run = runOn(tx)
            direct = ride?.direct() ?? direct
            return body({
              run,
              tx,
              opened: <Row>() => ride?.opened<Row>(),
              seen: () => ride?.seen(),
              close: (closing) => ride?.close(closing) === true,
            })
          },
          { timeout: timeoutMs, maxWait: maxWaitMs, ...(isolationLevel !== undefined && { isolationLevel }) },
        ),
      ),
    seesOwnRow,
    faultOf,
  }
}

/**
 * A client with read replicas (`@prisma/extension-read-replicas`, and those made like it) has `$primary()`. A replica is
 * behind: it would call a key absent that is settled. The extension leaves raw queries on the primary today; whatever
 * it or another one does with them, ours are asked of the primary. Transactions are there by themselves.
 */
function primaryOf(prisma: RawQueries & { $primary?: () => unknown }): RawQueries {
  if (typeof prisma.$primary !== 'function') return prisma
  const primary = prisma.$primary() as Partial<RawQueries> | undefined
  return typeof primary?.$queryRawUnsafe === 'function' ? (primary as RawQueries) : prisma
}

function runOn(queries: RawQueries): RunSql {
  return <Row>(sql: string, parameters: readonly SqlParameter[]) => queries.$queryRawUnsafe<Row[]>(sql, ...parameters)
}

/** Asks through the model of our own table, the way a handler asks: an extension may move models and leave raw queries. */
async function seesOwnRow(tx: object, row: { key: string; scope: string }): Promise<boolean | undefined> {
  const model = (tx as { idempotencyKey?: { count?(query: object): Promise<number> } }).idempotencyKey
  if (typeof model?.count !== 'function') return undefined
  try {
    return (await model.count({ where: row })) === 1
  } catch (error) {
    // The model has that name and other fields: it is not the one that we published.
    if (error instanceof Error && error.name === 'PrismaClientValidationError') return undefined
    throw error
  }
}

const FAULTS: Record<string, Fault> = {
  '40001': 'conflict', // serialization_failure
  '40P01': 'conflict', // deadlock_detected
  '55P03': 'blocked', // lock_not_available
  '25P02': 'aborted', // in_failed_sql_transaction
  '57014': 'timed out', // query_canceled, by statement_timeout
  '25P03': 'timed out', // idle_in_transaction_session_timeout
  P2034: 'conflict', // Prisma's own name for the first two
}

/** Classes of SQLSTATE in which the session ended rather than the statement: 08 connection, 57 operator, 58 system, XX internal. */
const SESSION_ENDED = new Set(['08', '53', '57', '58', 'XX'])

/**
 * Prisma hands an SQLSTATE over in several places: with a driver adapter below `meta.driverAdapterError`, from the
 * adapter itself when COMMIT fails, and with the query engine of Prisma 6 as `meta.code`. A handler's error may carry
 * any of these as its cause.
 */
function faultOf(error: unknown): Fault {
  for (let at = error, depth = 0; at !== undefined && at !== null && depth < 5; depth += 1) {
    const fault = faultAt(at)
    if (fault !== undefined) return fault
    at = part(at, 'cause')
  }
  return 'unknown'
}

function faultAt(error: unknown): Fault | undefined {
  const meta = part(error, 'meta')
  const candidates = [
    part(part(part(meta, 'driverAdapterError'), 'cause'), 'originalCode'),
    part(part(error, 'cause'), 'originalCode'),
    part(error, 'originalCode'),
    part(meta, 'code'),
    // Postgres' own error, as the driver throws it; a code of Prisma's has the same form.
    part(error, 'severity') === undefined ? undefined : part(error, 'code'),
  ]
  const sqlState = candidates.find((code): code is string => typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code))
  if (sqlState !== undefined)
    return FAULTS[sqlState] ?? (SESSION_ENDED.has(sqlState.slice(0, 2)) ? 'unknown' : 'refused')
  const code = part(error, 'code')
  if (code === 'P2028' && typeof part(meta, 'timeout') === 'number') return 'timed out'
  return typeof code === 'string' ? FAULTS[code] : undefined
}

function part(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
