import { readReplicas } from '@prisma/extension-read-replicas'
import { createIdempotency, type LeaseOptions, sweepOnce } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { describe, expect, test } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { createBarrier, passBarrier } from '../support/barrier.js'
import { clientOf } from '../support/clientOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { startDatabaseProxy } from '../support/databaseProxy.js'
import { serve } from '../support/httpServer.js'
import { rawCall, said } from '../support/rawCall.js'
import { type Authed, authed, OrderInput, t } from '../support/shop.js'

const primary = useDatabase()
/** A replica that lags for ever: nothing has come here yet. */
const replica = useDatabase()

const tea = { item: 'tea', cents: 350 }

/** What is given to the library: a client whose replica is the other database. */
const clients = {
  'the read-replica extension': (prisma: PrismaClient, other: PrismaClient) =>
    prisma.$extends(readReplicas({ replicas: [other] })) as unknown as PrismaClient,
  'an extension that sends raw reads to the replica as well': (prisma: PrismaClient, other: PrismaClient) =>
    prisma.$extends(readReplicas({ replicas: [other] })).$extends({
      query: {
        // @ts-expect-error the parameter that tells whether it runs in a transaction is not declared
        $queryRawUnsafe({ args, query, __internalParams: { transaction } }) {
          return transaction ? query(args) : other.$queryRawUnsafe(...(args as [string]))
        },
      },
    }) as unknown as PrismaClient,
}

describe.each(Object.entries(clients))('with %s', (_, extend) => {
  async function shop(lease: LeaseOptions = {}) {
    const proxy = await startDatabaseProxy(replica.url)
    const prisma = extend(primary.prisma, clientOf(proxy.url))
    const idempotency = createIdempotency({
      prisma,
      retentionMs: 3_600_000,
      scope: ({ ctx }: { ctx: Authed }) => ctx.user.id,
    })
    const inside = await createBarrier(1)
    let runs = 0
    const router = t.router({
      create: idempotency
        .transaction(authed)
        .input(OrderInput)
        .mutation(async ({ ctx, input }) => {
          const { item } = await ctx.tx.order.create({ data: { customer: ctx.user.id, ...input } })
          // Reads its own write: the transaction is on the primary.
          return { item, orders: await ctx.tx.order.count({ where: { customer: ctx.user.id } }) }
        }),
      pay: idempotency
        .lease(authed, lease)
        .input(OrderInput)
        .mutation(async ({ ctx, input }) => {
          runs += 1
          const { recoveryPoint } = ctx.idempotency
          const charge = await recoveryPoint('charge', () => `charged in run ${runs}`)
          if (ctx.user.id.startsWith('slow')) await passBarrier(inside.url)
          if (ctx.user.id.startsWith('falls') && runs === 1) throw new Error('fell')
          const data = { customer: ctx.user.id, ...input }
          await recoveryPoint.tx('record', async (tx) => (await tx.order.create({ data })).item)
          return { charge, runs }
        }),
    })
    const url = await serve(router)
    return { prisma, proxy, idempotency, inside, url }
  }

  test('a read of the application goes to the replica, and nothing of ours does', async () => {
    const { prisma, proxy, url } = await shop()
    const call = { path: 'create', key: v7(), user: v7(), input: tea }
    expect((await rawCall(url, call)).data).toEqual({ item: 'tea', orders: 1 })
    expect(proxy.flights).toEqual([])
    expect(await prisma.order.count()).toBe(0)
    expect(proxy.flights).toHaveLength(1)
  })

  test('a repeat is answered by the primary: one order, and the same bytes', async () => {
    const { proxy, url } = await shop()
    const call = { path: 'create', key: v7(), user: v7(), input: tea }
    const first = await rawCall(url, call)
    expect(first.status).toBe(200)
    expect((await rawCall(url, { ...call, attempt: 2 })).text).toBe(first.text)
    expect((await rawCall(url, call)).text).toBe(first.text)
    expect(await ordersOf(call.user)).toBe(1)
    expect(proxy.flights).toEqual([])
  })

  test('status is the primary’s word', async () => {
    const { idempotency, proxy, url } = await shop()
    const call = { path: 'create', key: v7(), user: v7(), input: tea }
    await rawCall(url, call)
    expect(await idempotency.status({ scope: call.user, key: call.key })).toMatchObject({ status: 'settled' })
    expect(proxy.flights).toEqual([])
  })

  test('lease mode claims, waits for the holder and replays on the primary', async () => {
    const { inside, proxy, url } = await shop()
    const call = { path: 'pay', key: v7(), user: `slow ${v7()}`, input: tea }
    const first = rawCall(url, call)
    await inside.allArrived
    const second = rawCall(url, { ...call, attempt: 2 })
    inside.open()
    const { text, data } = await first
    expect(data).toEqual({ charge: 'charged in run 1', runs: 1 })
    expect((await second).text).toBe(text)
    expect((await rawCall(url, { ...call, attempt: 3 })).text).toBe(text)
    expect(await ordersOf(call.user)).toBe(1)
    expect(proxy.flights).toEqual([])
  })

  test('a holder on the primary is in flight for a repeat that does not wait', async () => {
    const { inside, proxy, url } = await shop({ onInFlight: 'reject' })
    const call = { path: 'pay', key: v7(), user: `slow ${v7()}`, input: tea }
    const first = rawCall(url, call)
    await inside.allArrived
    expect(said(await rawCall(url, { ...call, attempt: 2 }))).toMatchObject({ reason: 'IN_FLIGHT' })
    inside.open()
    expect((await first).status).toBe(200)
    expect(proxy.flights).toEqual([])
  })

  test('a takeover finds the recovery points that the primary has', async () => {
    const { proxy, url } = await shop()
    const call = { path: 'pay', key: v7(), user: `falls ${v7()}`, input: tea }
    expect((await rawCall(url, call)).status).toBe(500)
    expect((await rawCall(url, { ...call, attempt: 2 })).data).toEqual({ charge: 'charged in run 1', runs: 2 })
    expect(proxy.flights).toEqual([])
  })

  test('an operator and a sweep work on the primary', async () => {
    const { idempotency, proxy } = await shop()
    const of = { scope: v7(), key: v7({ msecs: Date.now() - 7_200_000 }) }
    await primary.query(
      `insert into idempotency_keys (key, scope, procedure, fingerprint, status, fence, on_unknown, attempts, claimed_at)
      values ($1, $2, 'pay', '\\x01', 'released', 1, 'manual', 1, now())`,
      [of.key, of.scope],
    )
    await idempotency.release(of)
    await idempotency.resolve({ ...of, result: 'told' })
    expect(await idempotency.status(of)).toEqual({ status: 'settled', as: 'value', result: 'told' })
    await primary.query(`update idempotency_watermark set raised_at = '-infinity', key = '0'`)
    expect(await sweepOnce(idempotency)).toEqual({ deleted: 0, raised: true })
    await primary.query(`update idempotency_watermark set raised_at = now() - interval '2 minutes'`)
    expect(await sweepOnce(idempotency)).toEqual({ deleted: 1, raised: true })
    expect(proxy.flights).toEqual([])
  })
})

async function ordersOf(customer: string): Promise<number> {
  return primary.prisma.order.count({ where: { customer } })
}
