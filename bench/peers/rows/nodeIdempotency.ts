import { Idempotency } from '@node-idempotency/core'
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis'
import { clientFor, createOrder, orderProcedure, type Row } from '../shop.js'

/** Before and after the handler, as its packages for Express and Fastify do; a duplicate waits for the first. */
export const row: Row = async (given) => {
  const prisma = clientFor(given)
  const storage = new RedisStorageAdapter({ url: given.redisUrl })
  await storage.connect()
  const idempotency = new Idempotency(storage, { enforceIdempotency: true, inProgressStrategy: { wait: true } })
  return orderProcedure.mutation(async ({ ctx, input, path }) => {
    const request = { method: 'POST', path, headers: { 'idempotency-key': ctx.key }, body: input }
    const seen = await idempotency.onRequest(request)
    if (seen !== undefined) return seen.body
    const order = await createOrder(prisma, input)
    await idempotency.onResponse(request, { body: order })
    return order
  })
}
