import type { MutationObserverOptions } from '@tanstack/react-query'
import type { TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { idempotencyErrorOf } from 'trpc-idempotency/client'
import { bindIdempotency } from 'trpc-idempotency/react-query'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { birthOf } from '../support/birthOf.js'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { serve } from '../support/httpServer.js'
import { failure, startScriptedServer } from '../support/scriptedServer.js'
import { keptKey, keysIn, openPage, type PageOptions, sentIn } from './page.js'
import { createShop, type Shop } from './shop.js'
import { OLDEST, type TanStack, VERSIONS } from './versions.js'

const db = useDatabase()

const tea = { item: 'tea', cents: 350 }
const rowOf = (item: string) => ({ customer: 'alice', item, cents: 350 })

beforeEach(async () => {
  vi.restoreAllMocks()
  await db.query('truncate orders')
  // What was warned of in an earlier test.
  Reflect.deleteProperty(globalThis, Symbol.for('trpc-idempotency.watch'))
})

async function open(tanstack: TanStack, plan: Fault[], options: Partial<PageOptions> = {}) {
  const { url, bodies } = await startFaultProxy(await serve(createShop(db)), plan)
  return { ...openPage(tanstack, { url, ...options }), bodies }
}

test('the oldest TanStack Query of these tests is the oldest that the peer range names', () => {
  expect(manifest.peerDependencies['@tanstack/react-query']).toBe(`^${OLDEST.version}`)
})

describe.each(VERSIONS)('with the %s TanStack Query', (_name, tanstack) => {
  test('while the server is down, 3 attempts of the link in each of 4 by TanStack Query are 12 requests with one key', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { url, requests } = await startScriptedServer([failure(-32603, { code: 'SERVICE_UNAVAILABLE' })])
    const { trpc, useMutation, mutations } = openPage(tanstack, { url, maxAttempts: 3 })
    await caught(useMutation(trpc.order.create.mutationOptions({ retry: 3 })).mutate(tea))
    expect(requests).toHaveLength(12)
    expect(new Set(keysIn(requests.map(({ body }) => body)))).toEqual(new Set([keptKey(mutations()[0])]))
    expect(warned.mock.calls).toEqual([
      [
        'bindIdempotency: idempotencyLink gave a mutation up after 3 attempts, and TanStack Query retries it, so the numbers of attempts multiply. Let one of the two retry: take the option retry away, or set maxAttempts: 1 in the link.',
      ],
    ])
  })

  test('the budget of the link stops earlier, and where one of the two retries nobody is warned', async () => {
    const warned = vi.spyOn(console, 'warn')
    const { url, requests } = await startScriptedServer([failure(-32603, { code: 'SERVICE_UNAVAILABLE' })])
    const both = openPage(tanstack, { url, maxAttempts: 3, retryBudget: 0 })
    await caught(both.useMutation(both.trpc.order.create.mutationOptions({ retry: 3 })).mutate(tea))
    expect(requests).toHaveLength(4)
    const link = openPage(tanstack, { url, maxAttempts: 3 })
    await caught(link.useMutation(link.trpc.order.create.mutationOptions()).mutate(tea))
    expect(requests).toHaveLength(7)
    expect(warned).not.toHaveBeenCalled()
  })

  test('replies that are lost over the retries of both: one order and its answer', async () => {
    const page = await open(tanstack, Array<Fault>(5).fill('cutAfter'), { maxAttempts: 2 })
    const answer = await page.useMutation(page.trpc.order.create.mutationOptions({ retry: 3 })).mutate(tea)
    expect(page.bodies).toHaveLength(6)
    expect(new Set(keysIn(page.bodies)).size).toBe(1)
    expect(await db.query('select id, item from orders')).toEqual([answer])
  })

  test('a render that gives a pending mutation new options does not take its key, nor its retries', async () => {
    const { trpc, useMutation, mutations, bodies } = await open(tanstack, ['cutAfter', 'cutAfter'])
    const options = () =>
      trpc.order.create.mutationOptions({
        retry: (count) => count < 2,
        retryDelay() {
          observer.setOptions(options())
          return 1
        },
        meta: { form: 'order' },
      })
    const observer = useMutation(options())
    await observer.mutate(tea)
    expect(keysIn(bodies)).toEqual(Array(3).fill(keptKey(mutations()[0])))
    expect(mutations()[0]?.meta).toMatchObject({ form: 'order' })
    expect(await db.orders()).toEqual([rowOf('tea')])
  })

  test('two mutate() of one hook with one input are two intents, and two orders', async () => {
    const { trpc, useMutation, bodies } = await open(tanstack, ['cutAfter', 'cutAfter'])
    const options = trpc.order.create.mutationOptions({ retry: 3 })
    const observer = useMutation(options)
    await Promise.all([observer.mutate(tea), observer.mutate(tea)])
    expect(bodies).toHaveLength(4)
    expect(new Set(keysIn(bodies)).size).toBe(2)
    expect(await db.orders()).toEqual([rowOf('tea'), rowOf('tea')])
  })

  test('a mutate() with the options or the meta of an earlier mutation is an intent of its own', async () => {
    const { trpc, useMutation, mutations, bodies } = await open(tanstack, [])
    await useMutation(trpc.order.create.mutationOptions()).mutate(tea)
    const [first] = mutations()
    if (first === undefined) expect.fail('there is no mutation')
    await useMutation(first.options as MutationObserverOptions<unknown, Error, typeof tea>).mutate(tea)
    await useMutation(trpc.order.create.mutationOptions({ meta: { ...first.meta } })).mutate(tea)
    expect(keysIn(bodies)).toEqual(mutations().map(keptKey))
    expect(new Set(keysIn(bodies)).size).toBe(3)
    expect(await db.orders()).toHaveLength(3)
  })

  test('a mutation that onSuccess calls has a key of its own', async () => {
    const warn = vi.spyOn(console, 'warn')
    const { client, trpc, useMutation, bodies } = await open(tanstack, [])
    const onSuccess = async () => {
      await client.order.cancel.mutate(tea)
    }
    await useMutation(trpc.order.create.mutationOptions({ onSuccess })).mutate(tea)
    expect(new Set(keysIn(bodies)).size).toBe(2)
    expect(await db.orders()).toEqual([rowOf('tea'), { ...rowOf('tea'), cents: -350 }])
    expect(warn).not.toHaveBeenCalled()
  })

  test('mutations that one mutationFn calls at once have three keys, and the same three on its retry', async () => {
    const { client, useMutation, bodies, mutations } = await open(tanstack, ['cutAfter', 'cutAfter', 'cutAfter'])
    const observer = useMutation({
      mutationFn: (cents: number) =>
        Promise.all([
          client.order.create.mutate({ item: 'tea', cents }),
          client.order.create.mutate({ item: 'cake', cents }),
          client.order.cancel.mutate({ item: 'milk', cents }),
        ]),
      retry: 3,
    })
    await observer.mutate(350)
    const keysOf = (item: string) => sentIn(bodies).flatMap((sent) => (sent.item === item ? [sent.key] : []))
    const perItem = ['tea', 'cake', 'milk'].map(keysOf)
    for (const keys of perItem) expect([keys.length, new Set(keys).size]).toEqual([2, 1])
    expect(new Set(perItem.flat()).size).toBe(3)
    expect(perItem[0]).toContain(keptKey(mutations()[0]))
    expect((await db.orders()).map(({ item }) => item).sort()).toEqual(['cake', 'milk', 'tea'])
  })

  test('a mutation that is called after the mutationFn waited is warned of, and its unknown failure is not retried with another key', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { client, useMutation, bodies } = await open(tanstack, ['pass', 'cutAfter'])
    const observer = useMutation({
      async mutationFn(input: typeof tea) {
        await client.order.create.mutate(input)
        await client.order.cancel.mutate(input)
      },
      retry: 3,
    })
    expect(idempotencyErrorOf(await caught(observer.mutate(tea)))?.outcome).toBe('UNKNOWN')
    expect(bodies).toHaveLength(2)
    expect(await db.orders()).toEqual([rowOf('tea'), { ...rowOf('tea'), cents: -350 }])
    expect(warn.mock.calls).toEqual([[expect.stringContaining('order.cancel was called')]])
  })

  test('behind a link that waits the key is lost: that is warned of, and TanStack Query retries only what was not executed', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const { trpc, useMutation, bodies, mutations } = await open(tanstack, ['cutAfter'], { before: [waitingLink] })
    const observer = useMutation(trpc.order.create.mutationOptions({ retry: 3 }))
    expect(idempotencyErrorOf(await caught(observer.mutate(tea)))?.outcome).toBe('UNKNOWN')
    expect(bodies).toHaveLength(1)
    expect(keysIn(bodies)).not.toContain(keptKey(mutations()[0]))
    expect(await db.orders()).toEqual([rowOf('tea')])
    expect(warn.mock.calls).toEqual([[expect.stringContaining('order.create was called')]])

    expect(idempotencyErrorOf(await caught(observer.mutate({ item: 'tea', cents: 0.5 })))?.outcome).toBe('NOT_EXECUTED')
    expect(bodies).toHaveLength(5)
  })

  test('a key that the server refuses for its age is kept, and the next mutate() has one of the server’s time', async () => {
    const serverTimeMs = 2_000_000_000_000
    const refusal = { reason: 'KEY_TOO_OLD', attemptOutcome: 'NOT_EXECUTED', serverTimeMs }
    const { url, requests } = await startScriptedServer([failure(-32600, { idempotency: refusal })])
    const { trpc, useMutation, mutations } = openPage(tanstack, { url })
    const observer = useMutation(trpc.order.create.mutationOptions({ retry: 1 }))
    for (const _ of [1, 2]) await caught(observer.mutate(tea))
    const [first, second] = mutations().map((mutation) => keptKey(mutation) ?? '')
    expect(keysIn(requests.map(({ body }) => body))).toEqual([first, first, second, second])
    expect(Math.round((birthOf(second ?? '') - serverTimeMs) / 60_000)).toBe(0)
  })

  test('a client is bound once; after the binding has ended it can be bound again', async () => {
    const queryClient = new tanstack.QueryClient()
    const unbind = bindIdempotency(queryClient)
    expect(() => bindIdempotency(queryClient)).toThrow('bound already')
    unbind()
    const mutate = async () => {
      const observer = new tanstack.MutationObserver(queryClient, { mutationFn: async () => 'done' })
      await observer.mutate()
      return keptKey(queryClient.getMutationCache().getAll().at(-1))
    }
    expect(await mutate()).toBeUndefined()
    bindIdempotency(queryClient)
    expect(await mutate()).toMatch(/^[\da-f]{8}-[\da-f]{4}-7/)
    expect(() => bindIdempotency(new tanstack.QueryClient(), { owner: 'alice' as never })).toThrow(
      'owner must be a function',
    )
  })
})

/** As one that reads a token from storage before it goes on. */
const waitingLink: TRPCLink<Shop> =
  () =>
  ({ op, next }) =>
    observable((observer) => {
      const timer = setTimeout(() => next(op).subscribe(observer), 1)
      return () => clearTimeout(timer)
    })
