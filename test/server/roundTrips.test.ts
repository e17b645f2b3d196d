import { createIdempotency } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import { adapterOf, asSent } from '../support/adapterOf.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { type DatabaseProxy, nameOf, startDatabaseProxy } from '../support/databaseProxy.js'
import { serve } from '../support/httpServer.js'
import { disconnect } from '../support/prismaVersion.js'
import { rawCall } from '../support/rawCall.js'
import { type Authed, authed, t } from '../support/shop.js'

const db = useDatabase()

/** @param inScope what every call of the user `alice` does before it claims */
async function shopBehindProxy(inScope: () => Promise<void> = async () => undefined) {
  const proxy = await startDatabaseProxy(db.url)
  const prisma = new PrismaClient({ adapter: adapterOf({ connectionString: proxy.url, max: 1 }) })
  onTestFinished(() => disconnect(prisma))
  const scope = async ({ ctx }: { ctx: Authed }) => {
    if (ctx.user.id === 'alice') await inScope()
    return ctx.user.id
  }
  const router = t.router({
    create: createIdempotency({ prisma, scope })
      .transaction(authed)
      .mutation(async ({ ctx }) => {
        await ctx.tx.$executeRaw`select 'the handler'`
        return 'done'
      }),
  })
  const url = await serve(router)
  // Prisma's first query on a connection costs more than the later ones.
  await rawCall(url, { path: 'create', key: v7(), user: 'first' })
  proxy.forget()
  return { proxy, url }
}

const WHOLE = asSent(['BEGIN', 'claim', "select 'the handler'", 'settle', 'COMMIT'])

function trips({ flights }: DatabaseProxy): string[] {
  return flights.map(nameOf)
}

test('a first call adds two round trips to its transaction, the claim and the settle, or none with the wrapper', async () => {
  const { proxy, url } = await shopBehindProxy()
  await rawCall(url, { path: 'create', key: v7() })
  expect(trips(proxy)).toEqual(WHOLE)
})

test('a retry of what is settled costs one round trip and no transaction', async () => {
  const { proxy, url } = await shopBehindProxy()
  const key = v7()
  await rawCall(url, { path: 'create', key })
  proxy.forget()
  expect((await rawCall(url, { path: 'create', key, attempt: 2 })).data).toBe('done')
  expect(trips(proxy)).toEqual(['read'])
})

test('a duplicate that calls itself a first attempt finds out by its claim, in a transaction with one more trip', async () => {
  const { proxy, url } = await shopBehindProxy()
  const key = v7()
  await rawCall(url, { path: 'create', key })
  proxy.forget()
  expect((await rawCall(url, { path: 'create', key })).data).toBe('done')
  expect(trips(proxy)).toEqual(asSent(['BEGIN', 'claim', 'read', 'COMMIT']))
})

test('a follower in the same process costs none', async () => {
  const count = 5
  let arrived = 0
  let open: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  // One promise for all: they go on in one turn of the event loop, before the first can have settled.
  const { proxy, url } = await shopBehindProxy(async () => {
    arrived += 1
    if (arrived === count) open()
    await gate
  })
  const call = { path: 'create', key: v7() }
  const answers = await Promise.all(Array.from({ length: count }, () => rawCall(url, call)))
  expect(answers.map(({ data }) => data)).toEqual(Array.from({ length: count }, () => 'done'))
  expect(trips(proxy)).toEqual(WHOLE)
})
