import process from 'node:process'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { PrismaClient } from '../../../generated/prisma/client.js'
import { adapterOf } from '../adapterOf.js'
import { passBarrier } from '../barrier.js'
import { contextOf } from '../httpServerContext.js'
import type { PayProcessOptions } from '../payProcess.js'
import { charge } from '../provider.js'
import { authed, OrderInput, shopIdempotency, t } from '../shop.js'

const url = process.argv[2] ?? ''
const options = JSON.parse(process.argv[3] ?? '{}') as PayProcessOptions
if (options.clockOffMs !== undefined) {
  const off = options.clockOffMs
  const now = Date.now.bind(Date)
  Date.now = () => now() + off
}
const prisma = new PrismaClient({ adapter: adapterOf({ connectionString: url, max: 20 }) })
const idempotency = shopIdempotency(prisma)

const router = t.router({
  pay: idempotency
    .lease(authed, options.lease)
    .input(OrderInput)
    .mutation(async ({ ctx, input }) => {
      const { recoveryPoint } = ctx.idempotency
      const customer = ctx.user.id
      const paid = await recoveryPoint('charge', ({ key }) => charge(options.providerUrl, key, `charge ${customer}`))
      if (options.barrierAfterCharge !== undefined) await passBarrier(options.barrierAfterCharge)
      const order = await recoveryPoint.tx('record', async (tx) => {
        const made = await tx.order.create({ data: { customer, ...input } })
        if (options.barrierInRecord !== undefined) await passBarrier(options.barrierInRecord)
        return made
      })
      const mail = await recoveryPoint('mail', ({ key }) => charge(options.providerUrl, key, `mail ${customer}`))
      return { ...paid, order: order.id, mail: mail.charge }
    }),
})
const server = createHTTPServer({ router, createContext: ({ req }) => contextOf(req) })
server.listen(0, '127.0.0.1', () => process.send?.(server.address()))
// The test's end is ours: no server outlives whoever started it.
process.on('disconnect', () => process.exit())
