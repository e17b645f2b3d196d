import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { createBarrier } from '../support/barrier.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { startOrderProcess } from '../support/orderProcess.js'
import { rawCall } from '../support/rawCall.js'

const db = useDatabase()

test('a holder that is stopped inside its handler loses the key to another attempt, and changes nothing once it goes on', async () => {
  const inside = await createBarrier(1)
  // The database ends its transaction a second after the timeout that the process itself does not notice.
  const idempotency = { timeoutMs: 500, claimWaitMs: 100 }
  const [holder, other] = await Promise.all([
    startOrderProcess(db.url, { barrierInHandler: inside.url, idempotency }),
    startOrderProcess(db.url, { idempotency }),
  ])
  const call = { path: 'create', key: v7(), input: { item: 'tea', cents: 350 }, user: 'stopped' }
  const first = rawCall(holder.url, call)
  await inside.allArrived
  holder.stop()

  const second = await rawCall(other.url, { ...call, attempt: 2 })
  expect(second.status).toBe(200)
  const rows = await db.keys()
  const orders = await db.orders()
  expect(orders).toEqual([{ customer: 'stopped', item: 'tea', cents: 350 }])
  expect(rows).toHaveLength(1)

  inside.open()
  holder.resume()
  const late = await first
  // It may learn of its loss, or be answered with what the other one did. It must not claim another order.
  if (late.status === 200) expect(late.text).toBe(second.text)
  else expect(late.status).toBe(503)
  expect(await db.orders()).toEqual(orders)
  expect(await db.keys()).toEqual(rows)
  expect(await db.runs('stopped')).toBe(2)
  // The stopped process is as good as new, once its pool has thrown the dead connection away.
  await expect.poll(async () => (await rawCall(holder.url, { ...call, attempt: 3 })).text).toBe(second.text)
})
