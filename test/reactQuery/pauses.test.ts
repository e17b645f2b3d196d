import type { DehydratedState } from '@tanstack/react-query'
import { createTRPCClient, httpLink } from '@trpc/client'
import { initTRPC } from '@trpc/server'
import superjson from 'superjson'
import { idempotencyErrorOf, idempotencyLink } from 'trpc-idempotency/client'
import { bindIdempotency } from 'trpc-idempotency/react-query'
import { createIdempotency } from 'trpc-idempotency/server'
import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { serve } from '../support/httpServer.js'
import type { Context } from '../support/shop.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'
import { keptKey, keysIn, leave, openPage, type Page } from './page.js'
import { createShop } from './shop.js'
import { type TanStack, VERSIONS } from './versions.js'

const db = useDatabase()

const tea = { item: 'tea', cents: 350 }
const TEA_ROW = { customer: 'alice', ...tea }

beforeEach(() => db.query('truncate orders'))

/** The next page of the same application: what its scripts do before they hydrate. */
function nextPage(tanstack: TanStack, url: string): Page {
  const page = openPage(tanstack, { url })
  const { mutationFn } = page.trpc.order.create.mutationOptions()
  page.queryClient.setMutationDefaults(page.trpc.order.create.mutationKey(), {
    ...(mutationFn !== undefined && { mutationFn }),
    retry: 3,
  })
  return page
}

describe.each(VERSIONS)('with the %s TanStack Query', (_name, tanstack) => {
  async function start(plan: Fault[]) {
    const { url, bodies } = await startFaultProxy(await serve(createShop(db)), plan)
    return { page: openPage(tanstack, { url }), next: () => nextPage(tanstack, url), bodies }
  }

  /** What the page leaves to the next one, as any storage keeps it. */
  function persisted({ queryClient }: Page): DehydratedState {
    const shouldDehydrateMutation = () => true
    return JSON.parse(JSON.stringify(tanstack.dehydrate(queryClient, { shouldDehydrateMutation })))
  }

  test('a mutation that waits for the network is sent with the key that it got when it was made', async () => {
    const { page, bodies } = await start(['cutAfter'])
    const observer = page.useMutation(page.trpc.order.create.mutationOptions({ retry: 3 }))
    tanstack.onlineManager.setOnline(false)
    const answer = observer.mutate(tea)
    await expect.poll(() => page.mutations()[0]?.state.isPaused).toBe(true)
    const key = keptKey(page.mutations()[0])
    observer.setOptions(page.trpc.order.create.mutationOptions({ retry: 3 }))
    expect(bodies).toEqual([])
    tanstack.onlineManager.setOnline(true)
    expect(await answer).toMatchObject({ item: 'tea' })
    expect(keysIn(bodies)).toEqual([key, key])
    expect(await db.orders()).toEqual([TEA_ROW])
  })

  test('paused, dehydrated, hydrated by the next page and resumed: one key, one order', async () => {
    const { page, next, bodies } = await start(['cutAfter', 'cutAfter'])
    tanstack.onlineManager.setOnline(false)
    leave(page.useMutation(page.trpc.order.create.mutationOptions({ retry: 3 })).mutate(tea))
    await expect.poll(() => page.mutations()[0]?.state.isPaused).toBe(true)
    const left = persisted(page)
    const key = keptKey(page.mutations()[0])
    page.queryClient.clear()

    const { queryClient, mutations } = next()
    tanstack.hydrate(queryClient, left)
    expect(keptKey(mutations()[0])).toBe(key)
    // By itself it resumes what is paused.
    tanstack.onlineManager.setOnline(true)
    await expect.poll(() => mutations()[0]?.state.status).toBe('success')
    expect(keysIn(bodies)).toEqual([key, key, key])
    expect(await db.query('select id, item from orders')).toEqual([mutations()[0]?.state.data])
  })

  test('in flight at the reload and its reply lost: the next page continues it, and is answered from the row', async () => {
    const { page, next, bodies } = await start(['hang'])
    leave(page.useMutation(page.trpc.order.create.mutationOptions()).mutate(tea))
    await expect.poll(db.orders).toEqual([TEA_ROW])
    const left = persisted(page)

    const { queryClient, mutations } = next()
    tanstack.hydrate(queryClient, left)
    // It is not paused, so that finds nothing to resume.
    await queryClient.resumePausedMutations()
    expect(bodies).toHaveLength(1)
    await mutations()[0]?.continue()
    expect(new Set(keysIn(bodies))).toEqual(new Set([keptKey(page.mutations()[0])]))
    expect(await db.query('select id, item from orders')).toEqual([mutations()[0]?.state.data])
  })

  test('hydrated twice, both are sent with the one key: one order, and both have its answer', async () => {
    const { page, next, bodies } = await start([])
    tanstack.onlineManager.setOnline(false)
    leave(page.useMutation(page.trpc.order.create.mutationOptions()).mutate(tea))
    await expect.poll(() => page.mutations()[0]?.state.isPaused).toBe(true)
    const left = persisted(page)
    page.queryClient.clear()

    const { queryClient, mutations } = next()
    for (const _ of [1, 2]) tanstack.hydrate(queryClient, left)
    tanstack.onlineManager.setOnline(true)
    await expect.poll(() => mutations().map(({ state }) => state.status)).toEqual(['success', 'success'])
    expect([bodies.length, new Set(keysIn(bodies)).size]).toEqual([2, 1])
    const [order] = await db.query('select id, item from orders')
    expect(mutations().map(({ state }) => state.data)).toEqual([order, order])
    expect(await db.orders()).toEqual([TEA_ROW])
  })

  test('without mutation defaults before it is hydrated, a mutation has nothing to be sent by, and is not', async () => {
    const { page, bodies } = await start([])
    tanstack.onlineManager.setOnline(false)
    leave(page.useMutation(page.trpc.order.create.mutationOptions()).mutate(tea))
    await expect.poll(() => page.mutations()[0]?.state.isPaused).toBe(true)
    const left = persisted(page)
    page.queryClient.clear()
    tanstack.hydrate(page.queryClient, left)
    tanstack.onlineManager.setOnline(true)
    const [mutation] = page.mutations()
    expect(await caught(mutation?.continue() ?? Promise.resolve())).toMatchObject({ message: 'No mutationFn found' })
    expect(bodies).toEqual([])
  })

  test.each([
    ['JSON, which makes a date a string, another input under the same key is refused', JSON, 'KEY_REUSED'],
    ['the serializer of the router, it is the same input, and is answered', superjson, undefined],
  ])('persisted by %s', async (_title, serializer, reason) => {
    const router = datedShop()
    const { url } = await startFaultProxy(await serve(router), ['hang'])
    const open = () => {
      const queryClient = new tanstack.QueryClient()
      bindIdempotency(queryClient)
      const { create } = createTRPCClient<typeof router>({
        links: [
          idempotencyLink<typeof router>({ mutations: { create: true }, maxAttempts: 1 }),
          httpLink({ url, transformer: superjson }),
        ],
      })
      const mutationFn = (at: Date) => create.mutate({ item: 'tea', at })
      queryClient.setMutationDefaults(['create'], { mutationFn })
      return queryClient
    }
    const first = open()
    leave(new tanstack.MutationObserver<unknown, Error, Date>(first, { mutationKey: ['create'] }).mutate(new Date(0)))
    await expect.poll(db.orders).toHaveLength(1)
    const left: DehydratedState = serializer.parse(
      serializer.stringify(tanstack.dehydrate(first, { shouldDehydrateMutation: () => true })),
    )
    const second = open()
    tanstack.hydrate(second, left)
    const [mutation] = second.getMutationCache().getAll()
    await mutation?.continue().catch(() => undefined)
    expect([mutation?.state.data, idempotencyErrorOf(mutation?.state.error)?.reason]).toEqual(
      reason === undefined ? ['tea', undefined] : [undefined, reason],
    )
    expect(await db.orders()).toHaveLength(1)
  })
})

function datedShop() {
  const t = initTRPC.context<Context>().create({ transformer: superjson, errorFormatter: endOfErrorFormatter })
  const idempotency = createIdempotency({ prisma: db.prisma, scope: () => 'alice', serializer: superjson })
  return t.router({
    create: idempotency
      .transaction(t.procedure)
      .input(z.object({ item: z.string(), at: z.coerce.date() }))
      .mutation(async ({ ctx, input: { item } }) => {
        await ctx.tx.order.create({ data: { customer: 'alice', item, cents: 350 } })
        return item
      }),
  })
}
