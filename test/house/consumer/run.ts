import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { PrismaPg } from '@prisma/adapter-pg'
import { createTRPCClient, httpBatchLink, TRPCClientError } from '@trpc/client'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { idempotencyErrorOf, idempotencyLink } from 'trpc-idempotency/client'
import { PrismaClient } from '../../../generated/prisma/client.js'
import { type AppRouter, createShop, t } from './shop.js'

// Sends one intent twice and one key for something else, over HTTP, and prints what came back.

const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.argv[2] ?? '' }) })
const server = createHTTPServer({ router: createShop(prisma), createContext: () => ({ user: { id: 'alice' } }) })
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const { order } = createTRPCClient<AppRouter>({
  links: [idempotencyLink<AppRouter>({ mutations: { 'order.create': true } }), httpBatchLink({ url })],
})
const context = { idempotencyKey: process.argv[3] }

const first = await order.create.mutate({ item: 'tea', cents: 350 }, { context })
const repeat = await order.create.mutate({ item: 'tea', cents: 350 }, { context })
const reuse: unknown = await order.create.mutate({ item: 'tea', cents: 999 }, { context }).catch((error) => error)

console.log(
  JSON.stringify({
    buildersHaveErrors: 'errors' in t.procedure,
    first,
    repeat,
    reuse: {
      data: reuse instanceof TRPCClientError ? reuse.data : String(reuse),
      known: idempotencyErrorOf(reuse),
    },
    orders: (await order.list.query()).map(({ customer, item, cents }) => ({ customer, item, cents })),
  }),
)
server.closeAllConnections()
server.close()
await prisma.$disconnect()
