import { DBOS } from '@dbos-inc/dbos-sdk'
import { PrismaDataSource } from '@dbos-inc/prisma-datasource'
import type { PrismaClient } from '../../../generated/prisma/client.js'
import { clientFor, createOrder, type OrderInput, orderProcedure, type Row } from '../shop.js'

/** A workflow of one transaction, whose id is the key: https://docs.dbos.dev/typescript/tutorials/idempotency-tutorial */
export const row: Row = async (given) => {
  const orders = new PrismaDataSource<PrismaClient>('orders', clientFor(given))
  const create = DBOS.registerWorkflow(
    (input: OrderInput) => orders.runTransaction(() => createOrder(orders.client, input), { name: 'create' }),
    { name: 'createOrder' },
  )
  // Its own tables lie in the same database, and it has a pool of 10 beside Prisma's.
  DBOS.setConfig({ name: 'bench', systemDatabaseUrl: given.databaseUrl, logLevel: 'error' })
  await DBOS.launch()
  return orderProcedure.mutation(({ ctx, input }) => DBOS.withNextWorkflowID(ctx.key, () => create(input)))
}
