import type { DehydratedState, Mutation } from '@tanstack/react-query'
import { idempotencyErrorOf } from 'trpc-idempotency/client'
import { retryIntent } from 'trpc-idempotency/react-query'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { serve } from '../support/httpServer.js'
import { keptKey, leave, openPage, type Page, type PageOptions } from './page.js'
import { createShop } from './shop.js'
import { VERSIONS } from './versions.js'

const db = useDatabase()

const tea = { item: 'tea', cents: 350 }

beforeEach(() => db.query('truncate orders'))

describe.each(VERSIONS)('with the %s TanStack Query', (_name, tanstack) => {
  /** Pages of one browser, in which one after the other signs in. */
  async function start(plan: Fault[], signedIn: { user: string }) {
    const { url, bodies } = await startFaultProxy(await serve(createShop(db)), plan)
    const user = () => signedIn.user
    const open = (options: Partial<PageOptions> = { owner: user }) => {
      const page = openPage(tanstack, { url, user, ...options })
      const { mutationFn } = page.trpc.order.create.mutationOptions()
      const defaults = { ...(mutationFn !== undefined && { mutationFn }) }
      page.queryClient.setMutationDefaults(page.trpc.order.create.mutationKey(), defaults)
      return page
    }
    return { open, bodies }
  }

  async function pauseOne(page: Page, options: { scope?: { id: string } } = {}): Promise<void> {
    tanstack.onlineManager.setOnline(false)
    leave(page.useMutation(page.trpc.order.create.mutationOptions(options)).mutate(tea))
    await expect.poll(() => page.mutations().at(-1)?.state.isPaused).toBe(true)
  }

  const persisted = ({ queryClient }: Page, all = false): DehydratedState =>
    JSON.parse(
      JSON.stringify(
        tanstack.dehydrate(queryClient, all ? { shouldDehydrateMutation: (m) => m.state.status === 'pending' } : {}),
      ),
    )

  test('the owner changes between two attempts of the link: it stops, its outcome is unknown, and nothing goes out as somebody else’s', async () => {
    const signedIn = { user: 'alice' }
    const { open, bodies } = await start(['cutAfter'], signedIn)
    const { trpc, useMutation } = open({
      owner: () => signedIn.user,
      maxAttempts: 5,
      onEvent: ({ type }) => {
        if (type === 'delay') signedIn.user = 'bob'
      },
    })
    const error = await caught(useMutation(trpc.order.create.mutationOptions({ retry: 3 })).mutate(tea))
    expect(error.message).toBe('order.create: somebody else is signed in now')
    expect(idempotencyErrorOf(error)).toMatchObject({ attempts: 1, outcome: 'UNKNOWN' })
    expect(bodies).toHaveLength(1)
    expect(await db.orders()).toEqual([{ customer: 'alice', ...tea }])
  })

  test('after a reload as somebody else a paused mutation is not sent, raises the event and stays; its owner’s page sends it', async () => {
    const signedIn = { user: 'alice' }
    const { open, bodies } = await start([], signedIn)
    const first = open()
    await pauseOne(first)
    const left = persisted(first)
    first.queryClient.clear()

    signedIn.user = 'bob'
    const stayed: Mutation[] = []
    const second = open({ owner: () => signedIn.user, onOtherOwner: (mutation) => stayed.push(mutation) })
    tanstack.hydrate(second.queryClient, left)
    tanstack.onlineManager.setOnline(true)
    await second.queryClient.resumePausedMutations()
    expect(bodies).toEqual([])
    expect(stayed.length).toBeGreaterThan(0)
    expect(new Set(stayed)).toEqual(new Set(second.mutations()))
    expect(stayed[0]?.state).toMatchObject({ status: 'pending', isPaused: true, variables: tea })
    expect(persisted(second)).toEqual(left)

    signedIn.user = 'alice'
    await second.queryClient.resumePausedMutations()
    expect(await db.orders()).toEqual([{ customer: 'alice', ...tea }])
  })

  test('one that was in flight at the reload is refused to somebody else, with an unknown outcome, and stays', async () => {
    const signedIn = { user: 'alice' }
    const { open, bodies } = await start(['hang'], signedIn)
    const first = open()
    leave(first.useMutation(first.trpc.order.create.mutationOptions()).mutate(tea))
    await expect.poll(db.orders).toHaveLength(1)

    signedIn.user = 'bob'
    const second = open()
    tanstack.hydrate(second.queryClient, persisted(first, true))
    const [mutation] = second.mutations()
    const error = await caught(mutation?.continue() ?? Promise.resolve())
    expect(idempotencyErrorOf(error)).toMatchObject({ key: keptKey(first.mutations()[0]), outcome: 'UNKNOWN' })
    expect([bodies.length, mutation?.state.status]).toEqual([1, 'pending'])

    signedIn.user = 'alice'
    await mutation?.continue()
    expect(mutation?.state.data).toMatchObject({ item: 'tea' })
    expect(await db.orders()).toEqual([{ customer: 'alice', ...tea }])
  })

  test('paused in a page that goes on, it waits for its owner too', async () => {
    const signedIn = { user: 'alice' }
    const { open, bodies } = await start([], signedIn)
    const { queryClient, mutations, ...page } = open()
    await pauseOne({ queryClient, mutations, ...page })
    signedIn.user = 'bob'
    tanstack.onlineManager.setOnline(true)
    await page.useMutation(page.trpc.order.create.mutationOptions()).mutate({ item: 'cake', cents: 500 })
    expect(await db.orders()).toEqual([{ customer: 'bob', item: 'cake', cents: 500 }])
    signedIn.user = 'alice'
    await queryClient.resumePausedMutations()
    await expect.poll(() => mutations()[0]?.state.data).toMatchObject({ item: 'tea' })
    expect(bodies).toHaveLength(2)
    expect(await db.orders()).toContainEqual({ customer: 'alice', ...tea })
  })

  test.each(['before the retry is decided on', 'while it waits for the retry'])(
    'the owner changes %s: nothing more is sent, and the outcome is unknown',
    async (when) => {
      const signedIn = { user: 'alice' }
      const { open, bodies } = await start(['cutAfter'], signedIn)
      const page = open()
      const signInBob = () => {
        signedIn.user = 'bob'
        return 1
      }
      if (when.startsWith('while')) {
        page.queryClient.getMutationCache().subscribe((event) => {
          if (event.type === 'updated' && event.action.type === 'failed') signInBob()
        })
      }
      const options = page.trpc.order.create.mutationOptions({
        // For ever, if nothing else ended it.
        retry: true,
        ...(when.startsWith('before') && { retryDelay: signInBob }),
      })
      const error = await caught(page.useMutation(options).mutate(tea))
      expect(idempotencyErrorOf(error)).toMatchObject({ key: keptKey(page.mutations()[0]), outcome: 'UNKNOWN' })
      expect(bodies).toHaveLength(1)
      expect(await db.orders()).toEqual([{ customer: 'alice', ...tea }])
    },
  )

  test('one that failed is not tried again as somebody else: it keeps its error, and its owner can', async () => {
    const signedIn = { user: 'alice' }
    const { open, bodies } = await start(['cutAfter'], signedIn)
    const onOtherOwner = vi.fn()
    const page = open({ owner: () => signedIn.user, onOtherOwner })
    const lost = await caught(page.useMutation(page.trpc.order.create.mutationOptions()).mutate(tea))
    const [mutation] = page.mutations()
    if (mutation === undefined) expect.fail('there is no mutation')
    signedIn.user = 'bob'
    expect(idempotencyErrorOf(await caught(retryIntent(mutation)))?.outcome).toBe('UNKNOWN')
    expect(onOtherOwner).toHaveBeenCalledWith(mutation)
    expect(mutation.state).toMatchObject({ status: 'error', error: lost })
    expect(bodies).toHaveLength(1)
    signedIn.user = 'alice'
    expect(await retryIntent(mutation)).toMatchObject({ item: 'tea' })
    expect(await db.orders()).toEqual([{ customer: 'alice', ...tea }])
  })

  test('an owner that is forgotten, or empty, sends nothing: the mutation fails, and is known not to be executed', async () => {
    const signedIn = { user: 'alice' }
    const { open, bodies } = await start([], signedIn)
    for (const forgotten of ['', undefined, null]) {
      const { trpc, useMutation } = open({ owner: () => forgotten as string })
      const error = await caught(useMutation(trpc.order.create.mutationOptions({ retry: 3 })).mutate(tea))
      expect(idempotencyErrorOf(error)?.outcome).toBe('NOT_EXECUTED')
    }
    expect(bodies).toEqual([])
  })

  test.each([
    ['without an owner is not sent by a page that has one', undefined, 'alice'],
    ['with an owner is not sent by a page that has none', 'alice', undefined],
  ])('a mutation that was persisted %s', async (_title, before, after) => {
    const { open, bodies } = await start([], { user: 'alice' })
    const bindingOf = (owner: string | undefined): Partial<PageOptions> =>
      owner === undefined ? {} : { owner: () => owner }
    const first = open(bindingOf(before))
    await pauseOne(first)
    const left = persisted(first)
    first.queryClient.clear()
    const { queryClient, mutations } = open(bindingOf(after))
    tanstack.hydrate(queryClient, left)
    tanstack.onlineManager.setOnline(true)
    await queryClient.resumePausedMutations()
    expect([bodies.length, mutations()[0]?.state.isPaused]).toEqual([0, true])
  })

  test('somebody else’s mutation holds up those of its scope until the event’s listener removes it', async () => {
    const signedIn = { user: 'alice' }
    const { open, bodies } = await start([], signedIn)
    const shown = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { queryClient, mutations, ...page } = open({
      owner: () => signedIn.user,
      onOtherOwner(mutation) {
        queryClient.getMutationCache().remove(mutation)
        throw new Error('in the hook')
      },
    })
    await pauseOne({ queryClient, mutations, ...page }, { scope: { id: 'orders' } })
    signedIn.user = 'bob'
    const answer = page
      .useMutation(page.trpc.order.create.mutationOptions({ scope: { id: 'orders' } }))
      .mutate({ item: 'cake', cents: 500 })
    await expect.poll(() => mutations().map(({ state }) => state.isPaused)).toEqual([true, true])
    tanstack.onlineManager.setOnline(true)
    expect(await answer).toMatchObject({ item: 'cake' })
    expect(bodies).toHaveLength(1)
    expect(mutations()).toHaveLength(1)
    // A hook that throws is reported, and changes nothing.
    expect(shown).toHaveBeenCalledWith(expect.objectContaining({ message: 'in the hook' }))
    shown.mockRestore()
  })
})
