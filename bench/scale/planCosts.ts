import pg from 'pg'
import { percentile } from '../measure/percentile.js'
import type { Bench } from '../section.js'
import { partitionByHours } from './partitionByHours.js'
import { recordedOperations } from './statementCosts.js'

/** What the three statements of one operation take, planned and run, in ms. */
export interface PlanCost {
  partitions: number
  unnamed: number
  named: number
  generic: number
}

const COUNTS = [0, 8, 30, 100]
const OPERATIONS = 600
const BATCH = 50

/** Claim, settle and read on tables of no and of more and more partitions, with nothing else in them. */
export async function planCosts(bench: Bench): Promise<PlanCost[]> {
  const clients: { partitions: number; client: pg.Client; url: string }[] = []
  for (const partitions of COUNTS) {
    const url = await bench.database(`plans_${partitions}`)
    if (partitions > 0) await partitionByHours(url, { hours: 3, from: -3 * (partitions - 2), to: 6 })
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    clients.push({ partitions, client, url })
  }
  try {
    const times = clients.map(() => ({ unnamed: [] as number[], named: [] as number[], generic: [] as number[] }))
    for (const way of ['unnamed', 'named', 'generic'] as const) {
      const runs = await Promise.all(clients.map(({ client }) => operationsOn(client, way)))
      for (let batch = 0; batch <= OPERATIONS / BATCH; batch += 1) {
        for (const [at, run] of runs.entries()) {
          const begun = performance.now()
          for (let n = 0; n < BATCH; n += 1) await run()
          // The first batch warms up, and lets Postgres choose its plan.
          if (batch > 0) times[at]?.[way].push((performance.now() - begun) / BATCH)
        }
      }
    }
    return clients.map(({ partitions }, at) => {
      const of = times[at]
      return {
        partitions,
        unnamed: percentile(of?.unnamed ?? [], 0.5),
        named: percentile(of?.named ?? [], 0.5),
        generic: percentile(of?.generic ?? [], 0.5),
      }
    })
  } finally {
    for (const { client } of clients) await client.end()
  }
}

async function operationsOn(client: pg.Client, way: keyof Omit<PlanCost, 'partitions'>): Promise<() => Promise<void>> {
  const next = await recordedOperations(client)
  await client.query(`set plan_cache_mode = ${way === 'generic' ? 'force_generic_plan' : 'auto'}`)
  return async () => {
    const statements = next()
    // In one transaction, so that no commit is measured.
    await client.query('begin')
    for (const name of ['claim', 'settle', 'read'] as const) {
      const { sql: text, parameters } = statements[name]
      const values = [...parameters]
      await client.query(way === 'unnamed' ? { text, values } : { name: `${way}-${name}`, text, values })
    }
    await client.query('rollback')
  }
}
