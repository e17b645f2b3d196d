import { initTRPC, TRPCError } from '@trpc/server'
import { createIdempotency, type RequestHeaders, type SharedOptions } from 'trpc-idempotency/server'
import { z } from 'zod'
import type { PrismaClient } from '../../generated/prisma/client.js'
import { endOfErrorFormatter } from './trpcVersion.js'

/** What the tests' servers know of a request: who sent it, by the header `x-user`. */
export interface Context {
  user: { id: string } | null
  headers?: RequestHeaders | undefined
}

export interface Authed {
  user: { id: string }
}

export const t = initTRPC.context<Context>().create({ errorFormatter: endOfErrorFormatter })

export const authed = t.procedure.use(({ ctx, next }) => {
  if (ctx.user === null) throw new TRPCError({ code: 'UNAUTHORIZED' })
  return next({ ctx: { user: ctx.user } })
})

export const OrderInput = z.object({ item: z.string(), cents: z.number().int() })

/** The library as most tests use it: one user is one scope. */
export function shopIdempotency(
  prisma: PrismaClient,
  options: SharedOptions & { headers?: () => RequestHeaders | undefined } = {},
) {
  return createIdempotency({ prisma, scope: ({ ctx }: { ctx: Authed }) => ctx.user.id, ...options })
}
