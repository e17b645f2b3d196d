import { PrismaClient } from '../../../generated/prisma/client.js'
import { adapterWithNames } from '../namedStatements.js'
import { createOrder, orderProcedure, type Row } from '../shop.js'

export const row: Row = (given) => {
  const prisma = new PrismaClient({ adapter: adapterWithNames(given) })
  return orderProcedure.mutation(({ input }) => prisma.$transaction((tx) => createOrder(tx, input)))
}
