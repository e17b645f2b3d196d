import { TRPCError } from '@trpc/server'
import { v7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import { adapterOf } from '../support/adapterOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { serve } from '../support/httpServer.js'
import { disconnect } from '../support/prismaVersion.js'
import { rawCall } from '../support/rawCall.js'
import { authed, OrderInput, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

/** A shop whose orders are counted by `label`, and whose handler does `then` once it has written. */
function shop(label: string, after: () => void | Promise<void> = () => undefined) {
  const idempotent = shopIdempotency(db.prisma).transaction(authed)
  return t.router({
    order: t.router({
      create: idempotent.input(OrderInput).mutation(async ({ ctx, input }) => {
        await db.countRun(label)
        const order = await ctx.tx.order.create({ data: { customer: label, ...input } })
        await after()
        return { id: order.id, item: order.item }
      }),
    }),
  })
}

async function ordersOf(label: string) {
  return (await db.orders()).filter(({ customer }) => customer === label)
}

test('a first call executes and is stored; its repeat is answered from the row', async () => {
  const url = await serve(shop('repeat'))
  const call = { path: 'order.create', key: v7(), input: { item: 'tea', cents: 350 } }

  const first = await rawCall(url, call)
  const repeat = await rawCall(url, call)
  const retry = await rawCall(url, { ...call, attempt: 2 })

  expect(first.status).toBe(200)
  expect(first.data).toEqual({ id: expect.any(Number), item: 'tea' })
  expect(repeat.text).toBe(first.text)
  expect(retry.text).toBe(first.text)
  expect(await db.runs('repeat')).toBe(1)
  expect(await ordersOf('repeat')).toEqual([{ customer: 'repeat', item: 'tea', cents: 350 }])
  const rows = (await db.keys()).filter(({ key }) => key === call.key)
  expect(rows).toEqual([
    {
      key: call.key,
      scope: 'alice',
      procedure: 'order.create',
      fingerprint: expect.any(Buffer),
      status: 'settled',
      result: JSON.stringify(first.data),
      result_kind: 'value',
      fence: 1,
      on_unknown: null,
      attempts: 1,
      claimed_at: expect.any(Date),
      lease_expires_at: null,
      settled_at: expect.any(Date),
    },
  ])
})

test('two intents execute twice, though their input is the same', async () => {
  const url = await serve(shop('two intents'))
  const call = { path: 'order.create', input: { item: 'tea', cents: 350 } }
  const [a, b] = await Promise.all([rawCall(url, { ...call, key: v7() }), rawCall(url, { ...call, key: v7() })])
  expect((a.data as { id: number }).id).not.toBe((b.data as { id: number }).id)
  expect(await db.runs('two intents')).toBe(2)
})

const failures: [string, () => void, number][] = [
  ['a TRPCError', () => void thrown(new TRPCError({ code: 'CONFLICT', message: 'sold out' })), 409],
  ['any other error', () => void thrown(new RangeError('boom')), 500],
  ['a text', () => void thrown('just text'), 500],
]

function thrown(error: unknown): never {
  throw error
}

test.each(failures)(
  'a handler that throws %s leaves nothing behind, and the next attempt runs',
  async (name, fail, status) => {
    const label = `fails with ${name}`
    let failing = true
    const url = await serve(shop(label, () => (failing ? fail() : undefined)))
    const call = { path: 'order.create', key: v7(), input: { item: 'tea', cents: 350 } }

    const failed = await rawCall(url, call)
    expect(failed.status).toBe(status)
    expect(failed.error?.data['idempotency']).toBeUndefined()
    expect(await ordersOf(label)).toEqual([])
    expect((await db.keys()).filter(({ key }) => key === call.key)).toEqual([])

    failing = false
    const next = await rawCall(url, { ...call, attempt: 2 })
    expect(next.status).toBe(200)
    expect(await db.runs(label)).toBe(2)
    expect(await ordersOf(label)).toHaveLength(1)
  },
)

test('what a handler wrote is seen by others only together with the stored result', async () => {
  const seen: unknown[] = []
  const label = 'together'
  const url = await serve(
    shop(label, async () => {
      seen.push(
        await ordersOf(label),
        (await db.keys()).filter(({ scope }) => scope === 'tom'),
      )
    }),
  )
  await rawCall(url, { path: 'order.create', key: v7(), input: { item: 'tea', cents: 350 }, user: 'tom' })
  expect(seen).toEqual([[], []])
  expect(await ordersOf(label)).toHaveLength(1)
  expect((await db.keys()).filter(({ scope }) => scope === 'tom')).toHaveLength(1)
})

test('an invalid input is the parser’s error, and costs no key', async () => {
  const url = await serve(shop('invalid'))
  const key = v7()
  const refused = await rawCall(url, { path: 'order.create', key, input: { item: 'tea', cents: 'many' } })
  expect(refused.status).toBe(400)
  expect(await db.runs('invalid')).toBe(0)
  expect((await db.keys()).filter((row) => row.key === key)).toEqual([])
})

test('what a parser strips does not reach the handler past it', async () => {
  const inputs: unknown[] = []
  const router = t.router({
    echo: shopIdempotency(db.prisma)
      .transaction(authed)
      .input(OrderInput)
      .mutation(({ input }) => {
        inputs.push(input)
      }),
  })
  const url = await serve(router)
  await rawCall(url, { path: 'echo', key: v7(), input: { item: 'tea', cents: 1, admin: true } })
  expect(inputs).toEqual([{ item: 'tea', cents: 1 }])
})

/** Asks, in the handler, for the settings that hold there. */
async function settingsInHandler(prisma: PrismaClient): Promise<unknown> {
  const router = t.router({
    look: shopIdempotency(prisma, { timeoutMs: 4000 })
      .transaction(authed)
      .mutation(
        ({ ctx }) => ctx.tx.$queryRaw`
          select current_setting('lock_timeout') as lock,
            current_setting('statement_timeout') as statement,
            current_setting('idle_in_transaction_session_timeout') as idle`,
      ),
  })
  return (await rawCall(await serve(router), { path: 'look', key: v7() })).data
}

test('the lock timeout of the application holds again when the handler runs, and its transaction is bounded', async () => {
  expect(await settingsInHandler(db.prisma)).toEqual([{ lock: '0', statement: '4s', idle: '5s' }])
})

test('timeouts of the application that are shorter than ours stay as they are; longer ones are shortened', async () => {
  for (const [own, expected] of [
    [
      '-c lock_timeout=700 -c statement_timeout=1500 -c idle_in_transaction_session_timeout=2s',
      ['700ms', '1500ms', '2s'],
    ],
    ['-c lock_timeout=9s -c statement_timeout=1min -c idle_in_transaction_session_timeout=1h', ['9s', '4s', '5s']],
  ] as const) {
    // Direct: a pooler refuses settings that a client brings for its session. Behind one they are the role's or the database's.
    const adapter = adapterOf({ connectionString: db.directUrl, options: own, max: 1 })
    const prisma = new PrismaClient({ adapter })
    onTestFinished(() => disconnect(prisma))
    const [lock, statement, idle] = expected
    expect(await settingsInHandler(prisma)).toEqual([{ lock, statement, idle }])
  }
})
