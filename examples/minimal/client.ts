import { createTRPCClient, httpBatchLink } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import { v7 as uuidv7 } from 'uuid'
import type { AppRouter } from './server.js'

const url = process.env['SHOP_URL'] ?? 'http://localhost:3000'
const client = createTRPCClient<AppRouter>({
  links: [
    idempotencyLink<AppRouter>({ mutations: { 'order.create': true } }),
    httpBatchLink({ url, headers: { authorization: 'alice' } }),
  ],
})

// The link makes a key for each mutation by itself. Who brings one can repeat an intent, after a reload for example.
const context = { idempotencyKey: uuidv7() }
const first = await client.order.create.mutate({ item: 'tea', cents: 490 }, { context })
const again = await client.order.create.mutate({ item: 'tea', cents: 490 }, { context })
console.log(`Sent twice with one key: order ${first.id}, then order ${again.id}.`)
console.log(`Orders in the database: ${await client.order.count.query()}.`)
