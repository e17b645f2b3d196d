import process from 'node:process'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { asSent } from '../support/adapterOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Flight, type Hook, nameOf, startDatabaseProxy } from '../support/databaseProxy.js'
import { startPayProcess } from '../support/payProcess.js'
import { type Provider, startProvider } from '../support/provider.js'
import { type Answer, rawCall } from '../support/rawCall.js'
import type { ServerProcess } from '../support/serverProcess.js'

const db = useDatabase()

/** `npm run test:kills` sets 300. */
const KILLS = Number(process.env['KILLS'] ?? 30)
/** Processes that start side by side: starting one costs more than all that it does. */
const AT_ONCE = 3
/** A busy machine takes six seconds to start a process and to kill it. */
const SLOWEST_MS = 60_000 + KILLS * 6000
/** Longer than anything here takes: it ends when the test says so, in the database. */
const LEASE = { leaseMs: 60_000 }

/** Where a process can be when it is killed: both sides of every statement of a first call, and of each outside call. */
const STEPS = asSent([
  ...['read', 'claim', 'charge', 'record charge', 'BEGIN', 'lock', 'insert order', 'record record', 'COMMIT'],
  ...['mail', 'record mail', 'settle'],
])
const POINTS = STEPS.flatMap((step) => [`before ${step}`, `after ${step}`])

interface Intent {
  point: string
  call: { path: string; key: string; input: { item: string; cents: number }; user: string }
}

test(
  `${KILLS} processes that are killed around every statement and outside call: one charge, one record, one mail, one answer`,
  async () => {
    const provider = await startProvider()
    const survivor = await startPayProcess(db.url, { providerUrl: provider.url, lease: LEASE })
    const intents = Array.from({ length: KILLS }, (_, index): Intent => {
      const point = POINTS[index % POINTS.length] ?? ''
      const user = `customer-${index}`
      return { point, call: { path: 'pay', key: v7(), input: { item: 'tea', cents: index }, user } }
    })
    const reached = new Set<string>()
    const kills = new Map<string, (step: string) => Promise<boolean>>()
    provider.hook = async (what, moment) => {
      const [kind, user] = what.split(' ')
      await kills.get(user ?? '')?.(`${moment} ${kind}`)
    }
    for (let from = 0; from < KILLS; from += AT_ONCE) {
      const round = intents.slice(from, from + AT_ONCE)
      await Promise.all(round.map((intent) => killAndRetry(intent, { provider, survivor, reached, kills })))
    }
    expect(reached.size).toBe(Math.min(KILLS, POINTS.length))

    // Each thing was asked for under one key, and the provider did it once.
    expect(provider.keysFor.size).toBe(2 * KILLS)
    expect([...provider.keysFor.values()].filter(({ size }) => size !== 1)).toEqual([])
    expect(provider.charges.size).toBe(2 * KILLS)
    const orders = await db.query<{ id: number; customer: string }>('select id, customer from orders order by cents')
    expect(orders.map(({ customer }) => customer)).toEqual(intents.map(({ call }) => call.user))
    const rows = await db.query<{ scope: string; status: string; result: string; points: string[] }>(`
    select k.scope, k.status, k.result, array_agg(p.name order by p.created_at) as points
    from idempotency_keys k join idempotency_recovery_points p using (key, scope)
    group by k.key, k.scope order by k.key`)
    expect(rows.map(({ scope, status, points }) => ({ scope, status, points }))).toEqual(
      intents.map(({ call }) => ({ scope: call.user, status: 'settled', points: ['charge', 'record', 'mail'] })),
    )
    expect(rows.map(({ result }) => (JSON.parse(result) as { order: number }).order)).toEqual(
      orders.map(({ id }) => id),
    )
  },
  SLOWEST_MS,
)

interface Setting {
  provider: Provider
  survivor: ServerProcess
  reached: Set<string>
  kills: Map<string, (step: string) => Promise<boolean>>
}

async function killAndRetry({ point, call }: Intent, { provider, survivor, reached, kills }: Setting): Promise<void> {
  const proxy = await startDatabaseProxy(db.url)
  const victim = await startPayProcess(proxy.url, { providerUrl: provider.url, lease: LEASE })
  let killed = false
  const killAt = async (step: string) => {
    if (killed || step !== point) return killed
    killed = true
    reached.add(point)
    await victim.kill()
    return true
  }
  kills.set(call.user, killAt)
  proxy.hook = hookOf(killAt)
  const first = await rawCall(victim.url, call).catch(() => 'lost')
  expect([point, first]).toEqual([point, 'lost'])
  kills.delete(call.user)
  await db.query('update idempotency_keys set lease_expires_at = clock_timestamp() where key = $1 and status = $2', [
    call.key,
    'in_flight',
  ])
  // Some replies of the provider are lost on top of that.
  for (const kind of ['charge', 'mail']) provider.planFor.set(`${kind} ${call.user}`, ['lose'])

  const answers: Answer[] = []
  for (let attempt = 2; answers.length < 3; attempt += 1) {
    expect(attempt).toBeLessThan(12)
    const answer = await rawCall(survivor.url, { ...call, attempt })
    if (answer.status === 200) answers.push(answer)
    else expect([409, 500, 503]).toContain(answer.status)
  }
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
}

/** Names the round trips of a first call one after the other: three of them record a point. */
function hookOf(killAt: (step: string) => Promise<boolean>): Hook {
  const records = ['record charge', 'record record', 'record mail']
  let recorded = 0
  // By flight: a renewal on another connection comes in between.
  const steps = new Map<Flight, string>()
  return async (flight, moment) => {
    if (moment === 'before') {
      const step = stepOf(nameOf(flight))
      steps.set(flight, step === 'record' ? (records[recorded] ?? '') : step)
      if (step === 'record') recorded += 1
    }
    return (await killAt(`${moment} ${steps.get(flight)}`)) ? 'cut' : 'pass'
  }
}

function stepOf(name: string): string {
  const [first, second] = name.split(' + ')
  if (first === 'BEGIN' && second !== undefined) return `BEGIN + ${stepOf(second)}`
  if (name.includes(' locked as ')) return 'lock'
  if (name.startsWith('with bounds as')) return name.includes('insert into') ? 'claim' : 'renew'
  if (name.startsWith('insert into "idempotency_recovery_points"')) return 'record'
  return name.startsWith('INSERT INTO "public"."orders"') ? 'insert order' : name
}
