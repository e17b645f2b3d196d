import process from 'node:process'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { asSent } from '../support/adapterOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { nameOf, startDatabaseProxy } from '../support/databaseProxy.js'
import { startOrderProcess } from '../support/orderProcess.js'
import { rawCall } from '../support/rawCall.js'
import type { ServerProcess } from '../support/serverProcess.js'

const db = useDatabase()

/** `npm run test:kills` sets 300. */
const KILLS = Number(process.env['KILLS'] ?? 30)
/** Processes that start side by side: starting one costs more than all that it does. */
const AT_ONCE = 3
/** A busy machine takes six seconds to start a process and to kill it. */
const SLOWEST_MS = 60_000 + KILLS * 6000

/** Every round trip of a first call, and both sides of it: where a process can be when it is killed. */
const TRIPS = asSent(['BEGIN', 'claim', 'identity', 'look', 'insert', 'settle', 'COMMIT'])
const POINTS = TRIPS.flatMap((trip) => [`before ${trip}`, `after ${trip}`])

interface Kill {
  point: string
  user: string
  call: { path: string; key: string; input: { item: string; cents: number }; user: string }
}

test(
  `${KILLS} processes that are killed around every statement and COMMIT: one order a key, and its stored result names it`,
  async () => {
    const survivor = await startOrderProcess(db.url)
    const kills = Array.from({ length: KILLS }, (_, index) => {
      const point = POINTS[index % POINTS.length] ?? ''
      const user = `kill-${index} ${point}`
      return { point, user, call: { path: 'create', key: v7(), input: { item: 'tea', cents: index }, user } }
    })
    const reached = new Map<string, number>()
    for (let from = 0; from < KILLS; from += AT_ONCE) {
      const round = kills.slice(from, from + AT_ONCE)
      await Promise.all(round.map((kill) => killAndRetry(kill, survivor, reached)))
    }
    // No point was missed: a kill that never came would prove nothing.
    expect([...reached.values()].reduce((sum, times) => sum + times, 0)).toBe(KILLS)
    expect(reached.size).toBe(Math.min(KILLS, POINTS.length))

    const orders = await db.query<{ id: number; customer: string }>('select id, customer from orders order by cents')
    expect(orders.map(({ customer }) => customer)).toEqual(kills.map(({ user }) => user))
    const rows = await db.keys()
    const stored = rows.map(({ scope, result }) => ({ scope, id: (JSON.parse(result ?? '') as { id: number }).id }))
    expect(stored).toEqual(orders.map(({ id, customer }) => ({ scope: customer, id })))
  },
  SLOWEST_MS,
)

async function killAndRetry({ point, user, call }: Kill, survivor: ServerProcess, reached: Map<string, number>) {
  const proxy = await startDatabaseProxy(db.url)
  const victim = await startOrderProcess(proxy.url)
  proxy.hook = async (flight, moment) => {
    if (`${moment} ${shortName(nameOf(flight))}` !== point) return 'pass'
    reached.set(point, (reached.get(point) ?? 0) + 1)
    await victim.kill()
    return 'cut'
  }
  const first = await rawCall(victim.url, call).catch(() => 'lost')
  expect(first).toBe('lost')
  const retry = await rawCall(survivor.url, { ...call, attempt: 2 })
  expect(retry.status).toBe(200)
  // Where COMMIT had taken effect, the retry replays; everywhere else it runs.
  expect(await db.runs(user)).toBe(runsAfter(point))
}

function shortName(name: string): string {
  if (name.startsWith('SELECT COUNT')) return 'look'
  return name.startsWith('INSERT INTO "public"."orders"') ? 'insert' : name
}

/** How often the handler has run once the retry is through: it counts its runs before it inserts. */
function runsAfter(point: string): number {
  if (point.startsWith('after') && point.endsWith('COMMIT')) return 1
  return ['insert', 'settle', 'COMMIT'].some((trip) => point.endsWith(trip)) ? 2 : 1
}
