import pg from 'pg'
import { PrismaClient } from '../../generated/handWritten/client.js'
import { adapterFor, createOrder, type Given, orderProcedure, type Row } from '../shop.js'

/**
 * The better kind of it: in one transaction, and the key unique, so that the second of two at once fails instead of ordering
 * again.
 */
export const row: Row = async (given) => {
  await createTable(given)
  const prisma = new PrismaClient({ adapter: adapterFor(given) })
  return orderProcedure.mutation(({ ctx: { key }, input }) =>
    prisma.$transaction(async (tx) => {
      const seen = await tx.seenKey.findUnique({ where: { key } })
      if (seen !== null) return seen.result
      const order = await createOrder(tx, input)
      await tx.seenKey.create({ data: { key, result: { ...order, createdAt: order.createdAt.toJSON() } } })
      return order
    }),
  )
}

async function createTable({ databaseUrl }: Given): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`create table if not exists seen_keys (
    key text primary key, result jsonb not null, created_at timestamptz(3) not null default now()
  )`)
  await client.end()
}
