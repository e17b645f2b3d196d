import type { Statement } from '../sqlDatabase.js'
import { isStatementName, statementName } from './statementName.js'
import { fromWire, toWire } from './values.js'

/** The part of node-postgres' client that is called. */
export interface PgClient {
  query(query: object): Promise<unknown>
  /** Whether it sends every query at once, and by itself: from version 8.23, where it was told to. */
  pipeline?: boolean
}

/** The part of node-postgres' connection that a query of one's own writes to. */
interface PgConnection {
  /** The texts of the statements that are prepared on it, by their names; node-postgres keeps this list. */
  parsedStatements: Record<string, string>
  readonly stream: { cork(): void; uncork(): void }
  parse(message: { name: string | undefined; text: string }): void
  bind(message: { statement: string | undefined; values: (string | Buffer | null)[] }): void
  describe(message: { type: 'P'; name: string }): void
  execute(message: object): void
  sync(): void
}

/** What came of one statement: its rows by column, and its command tag. */
export interface Sent {
  rows: Record<string, unknown>[]
  tag: string
}

/** One of several statements failed; those after it were not run. */
export class StatementFailed extends Error {
  override readonly name = 'StatementFailed'
  /** Which one, counted from 0. */
  readonly at: number

  constructor(at: number, cause: unknown) {
    super('a statement that was sent together with others failed', { cause })
    this.at = at
  }
}

export interface SendOptions {
  /** Whether statements get a name and are prepared once for each connection. */
  prepare: boolean
}

/**
 * Sends several statements with what is bound to them in one trip. Postgres runs them one after the other, and after one
 * that fails none: there is one Sync, at their end.
 *
 * @throws StatementFailed with Postgres' error as its cause; the connection's own error where there was no answer
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
export async function sendTogether(
  client: PgClient,
  statements: readonly Statement[],
  options: SendOptions,
): Promise<Sent[]> {
  if (client.pipeline === true) return sendInPipeline(client, statements, options)
  return new Promise((resolve, reject) => {
    // It answers by what it tells the query, and returns that query.
    void client.query(together(statements, options, { resolve, reject }))
  })
}

/**
 * A client that pipelines takes no query of one's own, and needs none. Each of its queries has a Sync: after one that
 * fails in a transaction Postgres refuses the others, and makes a rollback of COMMIT.
 */
async function sendInPipeline(
  client: PgClient,
  statements: readonly Statement[],
  { prepare }: SendOptions,
): Promise<Sent[]> {
  const queries = statements.map(({ sql, parameters }) =>
    client.query({ name: prepare ? statementName(sql) : undefined, text: sql, values: parameters.map(toWire) }),
  )
  const ended = await Promise.allSettled(queries)
  return ended.map((end, at) => {
    if (end.status === 'rejected') throw isOfPostgres(end.reason) ? new StatementFailed(at, end.reason) : end.reason
    const { rows, command } = end.value as { rows: Sent['rows']; command: string }
    return { rows, tag: command }
  })
}

interface FieldsMessage {
  fields: { name: string; dataTypeID: number }[]
}

/** A query of one's own, as node-postgres takes it: it is asked to write itself, and told of each message. */
function together(
  statements: readonly Statement[],
  { prepare }: SendOptions,
  { resolve, reject }: { resolve(sent: Sent[]): void; reject(error: unknown): void },
) {
  const sent: Sent[] = []
  let columns: FieldsMessage['fields'] = []
  let rows: Sent['rows'] = []
  const names = statements.map(({ sql }) => (prepare ? statementName(sql) : undefined))
  return {
    // Where Postgres has parsed a statement, node-postgres enters it in its list as this, the one whose turn it is.
    get name() {
      return names[sent.length]
    },
    get text() {
      return statements[sent.length]?.sql
    },
    // Where node-postgres gives a query up by itself (query_timeout), it tells it here.
    callback(error: unknown) {
      if (error) reject(error)
    },
    submit(connection: PgConnection) {
      // In one write: else the first message goes by itself, and the others after it.
      connection.stream.cork()
      statements.forEach(({ sql, parameters }, at) => {
        const name = names[at]
        if (name === undefined || connection.parsedStatements[name] !== sql) connection.parse({ name, text: sql })
        connection.bind({ statement: name, values: parameters.map(toWire) })
        // Those without parameters are BEGIN and its like, and have no rows.
        if (parameters.length > 0) connection.describe({ type: 'P', name: '' })
        connection.execute({})
      })
      connection.sync()
      connection.stream.uncork()
    },
    handleRowDescription({ fields }: FieldsMessage) {
      columns = fields
    },
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      rows.push(
        Object.fromEntries(columns.map((column, at) => [column.name, fromWire(column.dataTypeID, fields[at] ?? null)])),
      )
    },
    handleCommandComplete({ text }: { text: string }) {
      sent.push({ rows, tag: text })
      rows = []
    },
    handleReadyForQuery() {
      resolve(sent)
    },
    handleError(error: unknown, connection: PgConnection) {
      // Somebody deallocated them, or the pooler gives each transaction another session: next time they are parsed again.
      if ((error as { code?: unknown }).code === UNKNOWN_STATEMENT) {
        for (const name of Object.keys(connection.parsedStatements).filter(isStatementName)) {
          delete connection.parsedStatements[name]
        }
      }
      // Postgres' own errors have a severity; anything else is the connection's, and says nothing of the statements.
      reject(isOfPostgres(error) ? new StatementFailed(sent.length, error) : error)
    },
    handlePortalSuspended() {},
    handleEmptyQuery() {},
  }
}

/** invalid_sql_statement_name: there is no prepared statement of that name. */
const UNKNOWN_STATEMENT = '26000'

function isOfPostgres(error: unknown): boolean {
  return error instanceof Error && 'severity' in error
}
