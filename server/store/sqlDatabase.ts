/** A value that is bound to a parameter of a statement, never written into it. */
export type SqlParameter = string | number | bigint | Uint8Array | null

/** Runs one statement and gives its rows. */
export type RunSql = <Row>(sql: string, parameters: readonly SqlParameter[]) => Promise<Row[]>

export type IsolationLevel = 'ReadCommitted' | 'RepeatableRead' | 'Serializable'

export interface SqlTransactionOptions {
  timeoutMs: number
  maxWaitMs: number
  /** Left out: the database's own default. */
  isolationLevel?: IsolationLevel | undefined
}

/** What a database's error means to us. */
export type Fault =
  /** A serialization failure or a deadlock: nothing happened, and the same transaction may well succeed. */
  | 'conflict'
  /** A lock was not granted in time. */
  | 'blocked'
  /** The transaction is spent: a statement of it failed before this one. */
  | 'aborted'
  /** The transaction or a statement took longer than it may. */
  | 'timed out'
  /** Postgres refused, and said so: what it was asked to do was not done. */
  | 'refused'
  /** No word from Postgres: the connection failed, or was never had. */
  | 'unknown'

/** What the store needs of a database client. */
export interface SqlDatabase<Tx> {
  run: RunSql
  /** Commits when `body` returns, rolls back when it throws, and then throws what it threw. */
  transaction<T>(options: SqlTransactionOptions, body: (run: RunSql, tx: Tx) => Promise<T>): Promise<T>
  /**
   * Whether the queries that a handler makes through `tx` run in the transaction that `tx` stands for: whether they see
   * a row of `idempotency_keys` that nobody else can see yet. `undefined` where the client has no such model to ask.
   */
  seesOwnRow(tx: Tx, row: { key: string; scope: string }): Promise<boolean | undefined>
  faultOf(error: unknown): Fault
}
