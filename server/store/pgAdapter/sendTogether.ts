import type { SqlParameter, Statement } from '../sqlDatabase.js'

/** The part of node-postgres' client that is called. */
export interface PgClient {
  query(query: object): Promise<unknown>
  /** Whether it sends every query at once, and by itself: from version 8.23, where it was told to. */
  pipeline?: boolean
}

/** The part of node-postgres' connection that a query of one's own writes to. */
interface PgConnection {
  parse(message: { text: string }): void
  bind(message: { values: (string | Buffer | null)[] }): void
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

/**
 * Sends several statements with what is bound to them in one trip. Postgres runs them one after the other, and after one
 * that fails none: there is one Sync, at their end.
 *
 * @throws StatementFailed with Postgres' error as its cause; the connection's own error where there was no answer
 * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 */
export async function sendTogether(client: PgClient, statements: readonly Statement[]): Promise<Sent[]> {
  if (client.pipeline === true) return sendInPipeline(client, statements)
  return new Promise((resolve, reject) => {
    // It answers by what it tells the query, and returns that query.
    void client.query(together(statements, { resolve, reject }))
  })
}

/**
 * A client that pipelines takes no query of one's own, and needs none. Each of its queries has a Sync: after one that
 * fails in a transaction Postgres refuses the others, and makes a rollback of COMMIT.
 */
async function sendInPipeline(client: PgClient, statements: readonly Statement[]): Promise<Sent[]> {
  const queries = statements.map(({ sql, parameters }) => client.query({ text: sql, values: parameters.map(asText) }))
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
  { resolve, reject }: { resolve(sent: Sent[]): void; reject(error: unknown): void },
) {
  const sent: Sent[] = []
  let columns: FieldsMessage['fields'] = []
  let rows: Sent['rows'] = []
  return {
    // Where node-postgres gives a query up by itself (query_timeout), it tells it here.
    callback(error: unknown) {
      if (error) reject(error)
    },
    submit(connection: PgConnection) {
      for (const { sql, parameters } of statements) {
        connection.parse({ text: sql })
        connection.bind({ values: parameters.map(asText) })
        connection.describe({ type: 'P', name: '' })
        connection.execute({})
      }
      connection.sync()
    },
    handleRowDescription({ fields }: FieldsMessage) {
      columns = fields
    },
    handleDataRow({ fields }: { fields: (string | null)[] }) {
      rows.push(Object.fromEntries(columns.map((column, at) => [column.name, parsed(column, fields[at] ?? null)])))
    },
    handleCommandComplete({ text }: { text: string }) {
      sent.push({ rows, tag: text })
      rows = []
    },
    handleReadyForQuery() {
      resolve(sent)
    },
    handleError(error: unknown) {
      // Postgres' own errors have a severity; anything else is the connection's, and says nothing of the statements.
      reject(isOfPostgres(error) ? new StatementFailed(sent.length, error) : error)
    },
    handlePortalSuspended() {},
    handleEmptyQuery() {},
  }
}

function asText(parameter: SqlParameter): string | Buffer | null {
  if (parameter === null) return null
  return parameter instanceof Uint8Array ? Buffer.from(parameter) : String(parameter)
}

/** The only types of our statements that are no text. */
const INT4 = 23

function parsed({ dataTypeID }: { dataTypeID: number }, text: string | null): unknown {
  return text !== null && dataTypeID === INT4 ? Number(text) : text
}

function isOfPostgres(error: unknown): boolean {
  return error instanceof Error && 'severity' in error
}
