import pg from 'pg'
import { v7 } from 'uuid'
import { claim } from '../../server/store/sql/claim.js'
import { readSettled } from '../../server/store/sql/readSettled.js'
import { settle } from '../../server/store/sql/settle.js'
import { tablesIn } from '../../server/store/sql/tables.js'
import { percentile } from '../measure/percentile.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Bench, Section } from '../section.js'

const TABLES = tablesIn(undefined)
const ORDER = `insert into orders (customer, item, cents) values ($1, $2, $3) returning id, customer, item, cents, created_at`
const RESULT = JSON.stringify({
  id: 1,
  customer: 'alice',
  item: 'tea',
  cents: 350,
  createdAt: '2026-12-01T00:00:00.000Z',
})
const DAY = 86_400

/** What Postgres takes for the statements of a first call and of a replay. */
export async function statements(bench: Bench): Promise<Section> {
  const times = await statementTimes(bench)
  const text = [
    'Microseconds on one connection that has nothing else to do, its round trip included: parsed and planned each time, and',
    'prepared under a name. Medians.',
    '',
    markdownTable(
      ['', 'unnamed', 'prepared'],
      times.map(({ statement, unnamed, prepared }) => [statement, unnamed.toFixed(0), prepared.toFixed(0)]),
    ),
  ].join('\n')
  return { title: 'Statements', text, figures: { times } }
}

interface StatementTimes {
  statement: string
  unnamed: number
  prepared: number
}

/** The statements of one mutation by turns with and without names, on a connection with nothing else to do. */
async function statementTimes(bench: Bench): Promise<StatementTimes[]> {
  const client = new pg.Client(await bench.database('micro_statements'))
  await client.connect()
  const took = new Map<string, { unnamed: number[]; prepared: number[] }>()
  const run = async (statement: string, prepare: boolean, query: { text: string; values?: unknown[] }) => {
    const start = performance.now()
    await client.query(prepare ? { ...query, name: statement } : query)
    const times = took.get(statement) ?? { unnamed: [], prepared: [] }
    times[prepare ? 'prepared' : 'unnamed'].push(1000 * (performance.now() - start))
    took.set(statement, times)
  }
  try {
    for (let turn = 0; turn < (bench.quick ? 400 : 4000); turn += 1) {
      const prepare = turn % 2 === 0
      const key = v7()
      const now = Date.now() / 1000
      await run('begin', prepare, { text: 'begin' })
      const limits = ['200', '5000ms', '6000ms']
      const values = [key, 'alice', 'order.create', Buffer.alloc(33, 1), 1, now - 60, now + DAY, ...limits]
      await run('claim', prepare, { text: claim(TABLES), values })
      await run('the insert of the order', prepare, { text: ORDER, values: ['alice', 'tea', 350] })
      await run('settle', prepare, { text: settle(TABLES), values: [key, 'alice', 1, RESULT, 'value'] })
      await run('commit', prepare, { text: 'commit' })
      await run('the read of a replay', prepare, { text: readSettled(TABLES), values: [key, 'alice'] })
    }
  } finally {
    await client.end()
  }
  return [...took].map(([statement, { unnamed, prepared }]) => ({
    statement,
    unnamed: percentile(unnamed, 0.5),
    prepared: percentile(prepared, 0.5),
  }))
}
