import pg from 'pg'
import { v7 } from 'uuid'
import type { Fence, Operation } from '../../server/engine/record.js'
import { sealBy } from '../../server/store/seal.js'
import type { SqlDatabase, SqlParameter, Statement } from '../../server/store/sqlDatabase.js'
import { sqlStore } from '../../server/store/sqlStore.js'

/** What a statement costs Postgres, whatever the machine. */
export interface Cost {
  /** Pages of tables and indexes that were looked at, each time that they were. */
  buffers: number
  walBytes: number
  /** Time to plan, in ms. */
  planningMs: number
}

export type StatementName = 'claim' | 'order' | 'settle' | 'read'
/** Of a first call; `read` is that of a replay. */
export const FIRST_CALL: readonly StatementName[] = ['claim', 'order', 'settle']
export const STATEMENTS: readonly StatementName[] = [...FIRST_CALL, 'read']

/** The application's own, for a measure. */
const ORDER = `insert into orders (customer, item, cents) values ('bench', 'tea', 1) returning id`

const BOUNDS = { timeoutMs: 30_000, maxWaitMs: 30_000, claimWaitMs: 200, idleWarningMs: 60_000 }

/** An operation with the statements that the library sent for it. */
interface Recorded {
  operation: Operation
  statements: Record<StatementName, Statement>
}

function newOperation(): Operation {
  const birth = Date.now()
  const fingerprint = new Uint8Array(33).fill(1)
  const operation: unknown = { key: v7({ msecs: birth }), birth, scope: 'cost', procedure: 'order.create', fingerprint }
  return operation as Operation
}

/** Runs an operation through the store, and notes down what it sends: no copy of a statement here could grow old. */
async function record(client: pg.Client): Promise<Recorded> {
  const sent: Statement[] = []
  const run = async <Row>(sql: string, parameters: readonly SqlParameter[]) => {
    sent.push({ sql, parameters })
    return (await client.query(sql, [...parameters])).rows as Row[]
  }
  const database: SqlDatabase<object> = {
    run,
    async transaction(_options, body) {
      await client.query('begin')
      const end = await body({ run, tx: {}, opened: () => undefined, seen: () => undefined, close: () => false })
      await client.query('commit')
      return end
    },
    seesOwnRow: async () => undefined,
    faultOf: () => 'unknown',
  }
  const store = sqlStore(database, { schema: undefined, retentionMs: 259_200_000, skewMs: 600_000, seal: sealBy([]) })
  const operation = newOperation()
  await store.transaction(BOUNDS, async (transaction) => {
    await transaction.claim(operation, 1)
    await transaction.settle(operation, 1 as Fence, { kind: 'value', result: 'x'.repeat(200) })
  })
  await store.readSettled(operation)
  const [claim, settle, read] = sent
  if (claim === undefined || settle === undefined || read === undefined) throw new Error('the store sent too little')
  return { operation, statements: { claim, order: { sql: ORDER, parameters: [] }, settle, read } }
}

/** Makes the statements of operations, each with a key of its own. */
export async function recordedOperations(client: pg.Client): Promise<() => Record<StatementName, Statement>> {
  const { operation: old, statements } = await record(client)
  return () => {
    const { key } = newOperation()
    // The times between which a key may be claimed are the recorded one's, which is as old as this run.
    const own = ({ sql, parameters }: Statement): Statement => ({
      sql,
      parameters: parameters.map((value) => (value === old.key ? key : value)),
    })
    const { claim, order, settle, read } = statements
    return { claim: own(claim), order, settle: own(settle), read: own(read) }
  }
}

interface Explained {
  Plan: Record<'Shared Hit Blocks' | 'Shared Read Blocks' | 'WAL Bytes', number>
  'Planning Time': number
}

/** Means over so many operations, each with a key of its own. */
export async function statementCosts(url: string, operations: number): Promise<Record<StatementName, Cost>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const next = await recordedOperations(client)
    const sums = new Map(STATEMENTS.map((name) => [name, { buffers: 0, walBytes: 0, planningMs: 0 }]))
    for (let n = 0; n < operations; n += 1) {
      const statements = next()
      const explain = async (name: StatementName) => {
        const { sql, parameters } = statements[name]
        const { rows } = await client.query(`explain (analyze, buffers, wal, format json) ${sql}`, [...parameters])
        const [explained] = (rows[0] as { 'QUERY PLAN': Explained[] })['QUERY PLAN']
        const sum = sums.get(name)
        if (explained === undefined || sum === undefined) throw new Error('there is no plan')
        sum.buffers += explained.Plan['Shared Hit Blocks'] + explained.Plan['Shared Read Blocks']
        sum.walBytes += explained.Plan['WAL Bytes']
        sum.planningMs += explained['Planning Time']
      }
      await client.query('begin')
      for (const name of FIRST_CALL) await explain(name)
      await client.query('commit')
      await explain('read')
    }
    const means = STATEMENTS.map((name) => {
      const { buffers, walBytes, planningMs } = sums.get(name) ?? { buffers: 0, walBytes: 0, planningMs: 0 }
      const mean = {
        buffers: buffers / operations,
        walBytes: walBytes / operations,
        planningMs: planningMs / operations,
      }
      return [name, mean] as const
    })
    return Object.fromEntries(means) as Record<StatementName, Cost>
  } finally {
    await client.end()
  }
}
