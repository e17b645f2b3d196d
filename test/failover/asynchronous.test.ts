import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { type ReplicatedPostgres, startReplicatedPostgres } from '../support/failover/replicatedPostgres.js'
import { startOrderProcess } from '../support/orderProcess.js'
import { startPayProcess } from '../support/payProcess.js'
import { startProvider } from '../support/provider.js'
import { type Answer, type RawCall, rawCall } from '../support/rawCall.js'

// What docs/guarantees.md says is lost where commits do not wait for the standby. It is planted: the standby hears
// nothing from before the commit that is lost until its primary is gone.

const SLOWEST_MS = 120_000

test(
  'transaction mode: an acknowledged order that the standby never had is gone with its key, and a resend executes again',
  async () => {
    const postgres = await startReplicatedPostgres({ synchronous: false })
    const { url } = await startOrderProcess(postgres.url)
    const kept = { path: 'create', key: v7(), user: 'kept', input: { item: 'tea', cents: 1 } }
    const lost = { path: 'create', key: v7({ msecs: Date.now() + 1 }), user: 'lost', input: { item: 'tea', cents: 2 } }
    const first = await acknowledgedBeforeAndAfter(postgres, url, { kept, lost })
    expect(await postgres.onPrimary(ORDERS_AND_KEYS)).toEqual([
      { customer: 'kept', orders: 1, keys: 1 },
      { customer: 'lost', orders: 1, keys: 1 },
    ])
    await postgres.killPrimary()
    await postgres.promote()

    // Never the one without the other.
    expect(await postgres.onStandby(ORDERS_AND_KEYS)).toEqual([{ customer: 'kept', orders: 1, keys: 1 }])
    expect((await resent(url, kept)).text).toBe(first.kept.text)
    const again = await resent(url, lost)
    expect(again.text).not.toBe(first.lost.text)
    expect(again.data).toMatchObject({ customer: 'lost', item: 'tea', cents: 2 })
    expect(await postgres.onStandby(ORDERS_AND_KEYS)).toEqual([
      { customer: 'kept', orders: 1, keys: 1 },
      { customer: 'lost', orders: 1, keys: 1 },
    ])
  },
  SLOWEST_MS,
)

test(
  'lease mode: the outside effect outlives the key that is lost; a resend asks with the same derived key, and it is charged once',
  async () => {
    const postgres = await startReplicatedPostgres({ synchronous: false })
    const provider = await startProvider()
    const { url } = await startPayProcess(postgres.url, { providerUrl: provider.url, lease: {} })
    const kept = { path: 'pay', key: v7(), user: 'kept', input: { item: 'tea', cents: 1 } }
    const lost = { path: 'pay', key: v7({ msecs: Date.now() + 1 }), user: 'lost', input: { item: 'tea', cents: 2 } }
    const first = await acknowledgedBeforeAndAfter(postgres, url, { kept, lost })
    const { charge, mail } = first.lost.data as { charge: string; mail: string }
    const [chargeKey, mailKey] = [charge.slice(3), mail.slice(3)]
    expect(provider.calls.slice(2)).toEqual([chargeKey, mailKey])
    await postgres.killPrimary()
    await postgres.promote()

    expect(await postgres.onStandby(ORDERS_AND_KEYS)).toEqual([{ customer: 'kept', orders: 1, keys: 1 }])
    expect((await resent(url, kept)).text).toBe(first.kept.text)
    expect(provider.calls).toHaveLength(4)
    expect((await resent(url, lost)).data).toEqual({ charge, mail, order: expect.any(Number) })
    // Asked for twice, and done once: by the provider's own idempotency, and by nothing else.
    expect(provider.calls.slice(2)).toEqual([chargeKey, mailKey, chargeKey, mailKey])
    expect([provider.charges.get(chargeKey), provider.charges.get(mailKey)]).toEqual([1, 1])
    expect(provider.charges.size).toBe(4)
  },
  SLOWEST_MS,
)

const ORDERS_AND_KEYS = `
  select scope as customer, count(distinct o.id)::int as orders, count(distinct k.key)::int as keys
  from idempotency_keys k full join orders o on o.customer = k.scope
  group by scope order by scope`

/** One intent reaches the standby. The other is acknowledged as well, and does not. */
async function acknowledgedBeforeAndAfter(
  postgres: ReplicatedPostgres,
  url: string,
  { kept, lost }: { kept: RawCall; lost: RawCall },
): Promise<{ kept: Answer; lost: Answer }> {
  const before = await rawCall(url, kept)
  expect(before.status).toBe(200)
  await postgres.caughtUp()
  postgres.replication.cut()
  const after = await rawCall(url, lost)
  expect(after.status).toBe(200)
  return { kept: before, lost: after }
}

/** Sends it again until it is answered: the first try may meet a connection to the old primary. */
async function resent(url: string, call: RawCall): Promise<Answer> {
  let answer: Answer | undefined
  let attempt = 1
  await expect
    .poll(async () => {
      attempt += 1
      answer = await rawCall(url, { ...call, attempt })
      return answer.status
    })
    .toBe(200)
  if (answer === undefined) throw new Error('nothing was sent')
  return answer
}
