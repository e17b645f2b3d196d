import { clientFor, createOrder, orderProcedure, type Row } from '../shop.js'

export const row: Row = (given) => {
  const prisma = clientFor(given)
  return orderProcedure.mutation(({ input }) => createOrder(prisma, input))
}
