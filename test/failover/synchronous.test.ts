import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { createBarrier } from '../support/barrier.js'
import { type Acknowledged, startLoad } from '../support/failover/intents.js'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../support/failover/replicatedPostgres.js'
import { startOrderProcess } from '../support/orderProcess.js'
import { startPayProcess } from '../support/payProcess.js'
import { startProvider } from '../support/provider.js'
import { rawCall } from '../support/rawCall.js'

const CLIENTS = 6
/** Before the primary is killed, and after its standby took over. */
const AT_LEAST = 25
/** Two servers, two processes of ours, and a machine that may be slow. */
const SLOWEST_MS = 180_000
/** A holder whose primary dies has lost its lease on paper only: nobody waits for it longer than this. */
const LEASE = { leaseMs: 1500, claimWaitMs: 200 }

test(
  'transaction mode: the primary is killed under load, and its synchronous standby has every acknowledged order once',
  async () => {
    const postgres = await startReplicatedPostgres({ synchronous: true })
    const servers = await Promise.all([startOrderProcess(postgres.url), startOrderProcess(postgres.url)])
    const urls = servers.map(({ url }) => url)
    const acknowledged = await failOverUnderLoad(postgres, urls, 'create')

    const orders = await ordersOn(postgres)
    expect(orders).toEqual(ordersIn(acknowledged, ({ answer }) => (answer as { id: number }).id))
    await expectTheSameAnswers(acknowledged, urls, 'create')
    expect(await ordersOn(postgres)).toEqual(orders)
  },
  SLOWEST_MS,
)

test(
  'lease mode: the primary is killed under load, and every acknowledged payment is charged and recorded once',
  async () => {
    const postgres = await startReplicatedPostgres({ synchronous: true })
    const provider = await startProvider()
    const start = () => startPayProcess(postgres.url, { providerUrl: provider.url, lease: LEASE })
    const urls = (await Promise.all([start(), start()])).map(({ url }) => url)
    const acknowledged = await failOverUnderLoad(postgres, urls, 'pay')

    const orders = await ordersOn(postgres)
    expect(orders).toEqual(ordersIn(acknowledged, ({ answer }) => (answer as { order: number }).order))
    await expectTheSameAnswers(acknowledged, urls, 'pay')
    expect(await ordersOn(postgres)).toEqual(orders)
    // Each charge and each mail under one key, and done once; what the answer says is what the provider did.
    const keys = acknowledged.flatMap(({ customer, answer }) => {
      const { charge, mail } = answer as { charge: string; mail: string }
      return [
        [`charge ${customer}`, [charge.slice(3)]],
        [`mail ${customer}`, [mail.slice(3)]],
      ]
    })
    expect(sorted([...provider.keysFor].map(([what, used]) => [what, [...used]]))).toEqual(sorted(keys))
    expect(provider.charges.size).toBe(2 * acknowledged.length)
  },
  SLOWEST_MS,
)

test(
  'a commit that the synchronous standby does not have is never acknowledged, however long it waits',
  async () => {
    const postgres = await startReplicatedPostgres({ synchronous: true })
    const idempotency = { timeoutMs: 2000 }
    const inside = await createBarrier(1)
    const [one, other] = await Promise.all([
      startOrderProcess(postgres.url, { barrierInHandler: inside.url, idempotency }),
      startOrderProcess(postgres.url, { idempotency }),
    ])
    const call = { path: 'create', key: v7(), user: 'waits', input: { item: 'tea', cents: 1 } }
    expect((await rawCall(other.url, { ...call, key: v7(), user: 'before' })).status).toBe(200)
    let answers = 0
    const waiting = rawCall(one.url, call).finally(() => {
      answers += 1
    })
    await inside.allArrived
    postgres.replication.cut()
    inside.open()
    // Past every timeout of ours: two seconds for a statement, three for a session that is idle.
    await expect
      .poll(() =>
        postgres.onPrimary(
          `select query from pg_stat_activity
          where wait_event = 'SyncRep' and state_change < clock_timestamp() - interval '4 seconds'`,
        ),
      )
      .toEqual([{ query: 'COMMIT' }])
    expect(answers).toBe(0)
    await postgres.killPrimary()
    await postgres.promote()
    expect(await ordersOn(postgres)).toEqual([['before', 1]])
    await waiting
    const first = await rawCall(one.url, { ...call, attempt: 2 })
    const { id } = first.data as { id: number }
    expect((await rawCall(other.url, { ...call, attempt: 3 })).text).toBe(first.text)
    expect(await ordersOn(postgres)).toEqual([
      ['before', 1],
      ['waits', id],
    ])
  },
  SLOWEST_MS,
)

/** Kills the primary once some intents are through, promotes, and lets some more through. */
async function failOverUnderLoad(
  postgres: ReplicatedPostgres,
  servers: string[],
  path: 'create' | 'pay',
): Promise<Acknowledged[]> {
  const load = startLoad(servers, path, CLIENTS)
  const answered = () => load.acknowledged.length
  await expect.poll(answered, { timeout: 60_000 }).toBeGreaterThan(AT_LEAST)
  await postgres.killPrimary()
  await postgres.promote()
  const before = answered()
  await expect.poll(answered, { timeout: 60_000 }).toBeGreaterThan(before + AT_LEAST)
  await load.stop()
  return load.acknowledged
}

async function expectTheSameAnswers(acknowledged: Acknowledged[], servers: string[], path: string): Promise<void> {
  for (const { key, customer, answer } of acknowledged) {
    const cents = Number(customer.split('-')[1])
    const call = { path, key, user: customer, input: { item: 'tea', cents } }
    for (const [index, url] of servers.entries()) {
      expect((await rawCall(url, { ...call, attempt: 2 + index })).data).toEqual(answer)
    }
  }
}

async function ordersOn(postgres: ReplicatedPostgres): Promise<[string, number][]> {
  const rows = await postgres.onStandby<{ customer: string; id: number }>('select customer, id from orders')
  return sorted(rows.map(({ customer, id }): [string, number] => [customer, id]))
}

function ordersIn(acknowledged: Acknowledged[], idIn: (one: Acknowledged) => number): [string, number][] {
  return sorted(acknowledged.map((one): [string, number] => [one.customer, idIn(one)]))
}

function sorted<T>(rows: T[]): T[] {
  return rows.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
}
