import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { createBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { startOrderProcess } from '../support/orderProcess.js'
import { rawCall } from '../support/rawCall.js'

const db = useDatabase()

test('a process that is killed inside the handler leaves nothing behind, and the retry executes once, 20 times', async () => {
  // Twenty operations are inside the handler, each after its insert, when their process is killed.
  const kills = 20
  const inside = await createBarrier(kills)
  const survivor = await startOrderProcess(db.url)
  const calls = Array.from({ length: kills }, (_, index) => ({
    path: 'create',
    key: v7(),
    input: { item: 'tea', cents: index },
    user: `killed-${index}`,
  }))
  // Four at a time: a process costs most of a second to start.
  const lost: Promise<unknown>[] = []
  const victims: { kill(): Promise<void> }[] = []
  for (let from = 0; from < kills; from += 4) {
    const started = await Promise.all(
      calls.slice(from, from + 4).map(async (call) => {
        const victim = await startOrderProcess(db.url, {
          barrierInHandler: inside.url,
          // The first victim waits in its handler until the last one has started.
          idempotency: { timeoutMs: 120_000 },
        })
        lost.push(rawCall(victim.url, call).catch(() => 'lost'))
        return victim
      }),
    )
    victims.push(...started)
  }
  await inside.allArrived
  await Promise.all(victims.map((victim) => victim.kill()))
  expect(await Promise.all(lost)).toEqual(Array.from({ length: kills }, () => 'lost'))

  const retries = await Promise.all(calls.map((call) => rawCall(survivor.url, { ...call, attempt: 2 })))
  expect(retries.map(({ status }) => status)).toEqual(Array.from({ length: kills }, () => 200))
  const orders = await db.orders()
  expect(orders.sort((a, b) => a.cents - b.cents)).toEqual(
    calls.map(({ user, input }) => ({ customer: user, ...input })),
  )
  for (const { user } of calls) expect(await db.runs(user)).toBe(2)
  expect((await db.keys()).map(({ status, scope }) => ({ status, scope }))).toEqual(
    calls.map(({ user }) => ({ status: 'settled', scope: user })),
  )
}, 240_000)
