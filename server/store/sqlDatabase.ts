/** A value that is bound to a parameter of a statement, never written into it. */
export type SqlParameter = string | number | bigint | Uint8Array | null

/** Runs one statement and gives its rows. */
export type RunSql = <Row>(sql: string, parameters: readonly SqlParameter[]) => Promise<Row[]>

/** What the store needs of a database client. */
export interface SqlDatabase<Tx> {
  run: RunSql
  /** Commits when `body` returns, rolls back when it throws, and then throws what it threw. */
  transaction<T>(
    options: { timeoutMs: number; maxWaitMs: number },
    body: (run: RunSql, tx: Tx) => Promise<T>,
  ): Promise<T>
  /** The SQLSTATE that Postgres gave, where the error came from Postgres. */
  sqlStateOf(error: unknown): string | undefined
}
