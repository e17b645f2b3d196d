import type { RunSql, SqlDatabase, SqlParameter } from './sqlDatabase.js'

/** The part of a PrismaClient that is called; a client with extensions has it too. */
export interface PrismaLike {
  $transaction<Result>(
    // biome-ignore lint/suspicious/noExplicitAny: what a client hands out depends on its schema; TransactionClient finds it.
    body: (tx: any) => Promise<Result>,
    options?: { maxWait?: number; timeout?: number },
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

/** Speaks SQL through a PrismaClient. The only file that knows Prisma. */
export function prismaDatabase<Client extends PrismaLike>(prisma: Client): SqlDatabase<TransactionClient<Client>> {
  return {
    run: runOn(prisma),
    transaction: ({ timeoutMs, maxWaitMs }, body) =>
      prisma.$transaction((tx: TransactionClient<Client> & RawQueries) => body(runOn(tx), tx), {
        timeout: timeoutMs,
        maxWait: maxWaitMs,
      }),
    sqlStateOf,
  }
}

function runOn(queries: RawQueries): RunSql {
  return <Row>(sql: string, parameters: readonly SqlParameter[]) => queries.$queryRawUnsafe<Row[]>(sql, ...parameters)
}

/**
 * Prisma hands the SQLSTATE over in several places: with a driver adapter below `meta.driverAdapterError`, from the
 * adapter itself when COMMIT fails, and with the query engine of Prisma 6 as `meta.code`.
 */
function sqlStateOf(error: unknown): string | undefined {
  const meta = part(error, 'meta')
  const candidates = [
    part(part(part(meta, 'driverAdapterError'), 'cause'), 'originalCode'),
    part(part(error, 'cause'), 'originalCode'),
    part(meta, 'code'),
  ]
  return candidates.find((code): code is string => typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code))
}

function part(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
