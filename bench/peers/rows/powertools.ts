import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency'
import { CachePersistenceLayer } from '@aws-lambda-powertools/idempotency/cache'
import { createClient } from '@redis/client'
import { clientFor, createOrder, type OrderInput, orderProcedure, type Row } from '../shop.js'

/** The function wrapper, with the key as the part of the payload that counts. */
export const row: Row = async (given) => {
  const prisma = clientFor(given)
  const client = await createClient({ url: given.redisUrl }).connect()
  const config = new IdempotencyConfig({ eventKeyJmesPath: 'key', throwOnNoIdempotencyKey: true })
  // What it asks of Lambda: how long the function may still run. Without it, it writes a warning for each call.
  config.registerLambdaContext({ getRemainingTimeInMillis: () => 5000 } as Parameters<
    IdempotencyConfig['registerLambdaContext']
  >[0])
  const create = makeIdempotent(
    async ({ input }: { key: string; input: OrderInput }) => {
      const { createdAt, ...order } = await createOrder(prisma, input)
      return { ...order, createdAt: createdAt.toJSON() }
    },
    { persistenceStore: new CachePersistenceLayer({ client }), config, keyPrefix: 'order.create' },
  )
  return orderProcedure.mutation(({ ctx: { key }, input }) => create({ key, input }))
}
