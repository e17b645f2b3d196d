import { initTRPC } from '@trpc/server'
import { createIdempotency, type SharedOptions } from 'trpc-idempotency/server'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { charge } from './charge.js'

export interface Context {
  /** Stands in for a login. */
  customer: string
}

/**
 * How long a checkout stands still after its server died, in ms. Short, because here servers die all the time; a real
 * shop does well with the default, half a minute.
 */
const LEASE_MS = 1000

const CheckoutInput = z.object({ item: z.string(), cents: z.int().positive() })

/** A shop whose checkout charges through a provider first, and then records the payment. */
export function paymentsRouter(prisma: PrismaClient, providerUrl: string, options: SharedOptions = {}) {
  const t = initTRPC.context<Context>().create()
  const idempotency = createIdempotency({ prisma, scope: ({ ctx }: { ctx: Context }) => ctx.customer, ...options })

  return t.router({
    checkout: idempotency
      .lease(t.procedure, { leaseMs: LEASE_MS })
      .input(CheckoutInput)
      .mutation(async ({ ctx, input: { cents } }) => {
        const { customer } = ctx
        const { recoveryPoint } = ctx.idempotency
        // The key is the same in every attempt, so the provider charges once, whoever asks.
        const { id: chargeId } = await recoveryPoint('charge', ({ key, signal }) =>
          charge(providerUrl, { customer, cents }, { idempotencyKey: key, signal }),
        )
        return recoveryPoint.tx('record', (tx) =>
          tx.payment.create({ data: { chargeId, customer, cents }, select: { id: true, chargeId: true, cents: true } }),
        )
      }),
  })
}

export type PaymentsRouter = ReturnType<typeof paymentsRouter>
