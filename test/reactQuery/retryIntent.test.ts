import { idempotencyErrorOf } from 'trpc-idempotency/client'
import { retryIntent } from 'trpc-idempotency/react-query'
import { beforeEach, describe, expect, test } from 'vitest'
import { caught } from '../support/caught.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type Fault, startFaultProxy } from '../support/faultProxy.js'
import { serve } from '../support/httpServer.js'
import { keysIn, openPage } from './page.js'
import { createShop } from './shop.js'
import { VERSIONS } from './versions.js'

const db = useDatabase()

const tea = { item: 'tea', cents: 350 }

beforeEach(() => db.query('truncate orders'))

describe.each(VERSIONS)('with the %s TanStack Query', (_name, tanstack) => {
  async function start(plan: Fault[]) {
    const { url, bodies } = await startFaultProxy(await serve(createShop(db)), plan)
    const { trpc, useMutation, mutations, queryClient } = openPage(tanstack, { url })
    const observer = useMutation(trpc.order.create.mutationOptions())
    const mutationOf = (index: number) => mutations()[index] ?? expect.fail('there is no such mutation')
    return { observer, mutationOf, queryClient, bodies }
  }

  test('to try again is the same intent: one key, one order, and its answer for the hook that failed', async () => {
    const { observer, mutationOf, bodies } = await start(['cutAfter', 'cutAfter'])
    const stop = observer.subscribe(() => undefined)
    await caught(observer.mutate(tea))
    await caught(retryIntent(mutationOf(0)))
    expect(observer.getCurrentResult().status).toBe('error')
    const answer = await retryIntent(mutationOf(0))
    expect([bodies.length, new Set(keysIn(bodies)).size]).toEqual([3, 1])
    expect(observer.getCurrentResult()).toMatchObject({ status: 'success', data: answer })
    expect(await db.query('select id, item from orders')).toEqual([answer])
    stop()
  })

  test('mutation.execute with the same variables does the same; with others the key is refused', async () => {
    const { observer, mutationOf, bodies } = await start(['cutAfter'])
    await caught(observer.mutate(tea))
    await mutationOf(0).execute(tea)
    expect(new Set(keysIn(bodies)).size).toBe(1)
    const error = await caught(mutationOf(0).execute({ item: 'cake', cents: 500 }))
    expect(idempotencyErrorOf(error)?.reason).toBe('KEY_REUSED')
    expect(await db.orders()).toEqual([{ customer: 'alice', ...tea }])
  })

  test('mutate() after a failure is a new intent: another key, and another order', async () => {
    const { observer, bodies } = await start(['cutAfter'])
    await caught(observer.mutate(tea))
    await observer.mutate(tea)
    expect(new Set(keysIn(bodies)).size).toBe(2)
    expect(await db.orders()).toHaveLength(2)
  })

  test('one that is paused is waited for, one that has succeeded is not sent again, and one that was never sent is refused', async () => {
    const { observer, mutationOf, queryClient, bodies } = await start([])
    tanstack.onlineManager.setOnline(false)
    const mutated = observer.mutate(tea)
    await expect.poll(() => mutationOf(0).state.isPaused).toBe(true)
    const retried = retryIntent(mutationOf(0))
    tanstack.onlineManager.setOnline(true)
    await queryClient.resumePausedMutations()
    const answer = await mutated
    expect(await retried).toEqual(answer)
    expect(await retryIntent(mutationOf(0))).toEqual(answer)
    expect(bodies).toHaveLength(1)
    const idle = queryClient.getMutationCache().build(queryClient, { mutationFn: async () => 'done' })
    expect(await caught(retryIntent(idle))).toBeInstanceOf(TypeError)
  })
})
