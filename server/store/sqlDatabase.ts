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

/** One statement and what is bound to it. */
export interface Statement {
  readonly sql: string
  readonly parameters: readonly SqlParameter[]
}

/** An open transaction. */
export interface SqlTransaction<Tx> {
  run: RunSql
  /** What the handler works with. */
  readonly tx: Tx
  /** The rows of the opening, where it went with BEGIN; `undefined` where it is still to be run. */
  opened<Row>(): Promise<Row[]> | undefined
  /** How many statements were seen on its connection so far; `undefined` where nobody looks. */
  seen(): number | undefined
  /**
   * Gives a statement along with COMMIT, where the connection can do that. It has to fail where it does not take effect:
   * COMMIT is then not run.
   *
   * @returns whether it goes along; `false`: it is to be run now
   */
  close(closing: Statement): boolean
}

/** The statement that went with COMMIT failed, or was never sent: everything is rolled back. */
export class ClosingFailed extends Error {
  override readonly name = 'ClosingFailed'
  /** Postgres' code for the error of the statement; `undefined` for any other reason. */
  readonly sqlState: string | undefined

  constructor(message: string, { cause, sqlState }: { cause: unknown; sqlState?: string | undefined }) {
    super(message, { cause })
    this.sqlState = sqlState
  }
}

/** What the store needs of a database client. */
export interface SqlDatabase<Tx> {
  run: RunSql
  /**
   * Commits when `body` returns, rolls back when it throws, and then throws what it threw.
   *
   * @param opening the statement that `body` begins with, if it is known: where the connection can do that, it goes with
   *   BEGIN
   * @throws ClosingFailed where the statement that was to go with COMMIT did not take effect
   */
  transaction<T>(
    options: SqlTransactionOptions & { opening?: Statement | undefined },
    body: (transaction: SqlTransaction<Tx>) => Promise<T>,
  ): Promise<T>
  /**
   * Whether the queries that a handler makes through `tx` run in the transaction that `tx` stands for: whether they see
   * a row of `idempotency_keys` that nobody else can see yet. `undefined` where the client has no such model to ask.
   */
  seesOwnRow(tx: Tx, row: { key: string; scope: string }): Promise<boolean | undefined>
  faultOf(error: unknown): Fault
}
