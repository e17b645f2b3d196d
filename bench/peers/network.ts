import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import pg from 'pg'
import { percentile } from '../measure/percentile.js'
import { alternate, type Plan, type Rounds } from './alternate.js'
import type { RowName } from './rows.js'
import type { Given } from './shop.js'

export interface NetworkRounds {
  rounds: Rounds
  /** How long `select 1` takes through the relay and without it, in milliseconds: Node's timers are no finer than that. */
  pingMs: { through: number; without: number }
}

const ROWS_HERE: RowName[] = [
  'bareTransaction',
  'transaction',
  'transactionWithWrapper',
  'transactionPrepared',
  'nodePostgres',
  'dbos',
]
const DELAY_MS = 1

/** Rounds with a network between the servers and their database. */
export async function overNetwork(given: ReadonlyMap<RowName, Given>, plan: Plan): Promise<NetworkRounds> {
  const [any] = given.values()
  if (any === undefined) throw new Error('there are no rows')
  const relay = fork(path.join(import.meta.dirname, 'relayProcess.ts'), [any.databaseUrl, String(DELAY_MS)])
  const [{ url }] = (await once(relay, 'message')) as [{ url: string }]
  const { port } = new URL(url)
  const led = (databaseUrl: string) => Object.assign(new URL(databaseUrl), { port }).href
  const here = ROWS_HERE.map((name): [RowName, Given] => {
    const own = given.get(name) ?? any
    return [name, { ...own, databaseUrl: led(own.databaseUrl) }]
  })
  try {
    const pingMs = { through: await ping(led(any.databaseUrl)), without: await ping(any.databaseUrl) }
    return { pingMs, rounds: await alternate(new Map(here), plan) }
  } finally {
    relay.disconnect()
  }
}

async function ping(connectionString: string): Promise<number> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  const took: number[] = []
  for (let at = 0; at < 200; at += 1) {
    const sent = performance.now()
    await client.query('select 1')
    took.push(performance.now() - sent)
  }
  await client.end()
  return percentile(took, 0.5)
}
