import { initTRPC, lazy, TRPCError } from '@trpc/server'
import { createIdempotency, type IdempotencyContext, type Serializer } from 'trpc-idempotency/server'
import { z } from 'zod'
import type { TestDatabase } from '../support/database/testDatabase.js'
import { type Context, OrderInput } from '../support/shop.js'
import { endOfErrorFormatter } from '../support/trpcVersion.js'

export interface ShopOptions {
  db: TestDatabase
  transformer: Serializer | undefined
}

export type ShopRouter = ReturnType<typeof shopRouter>
export type Procedures = ReturnType<typeof shopProcedures>

/** The router that every transport leads to: nested paths, and a part of it that is loaded by the first call. */
export function shopRouter(options: ShopOptions) {
  const procedures = shopProcedures(options)
  const { t } = procedures
  return t.router({
    shop: {
      order: t.router({ create: create(procedures), confirm: confirm(procedures) }),
      pay: pay(procedures),
      stock: lazy(() => import('./stock.js').then(({ stockRouter }) => stockRouter(procedures))),
    },
  })
}

/** What the mutations are built from. @param caller of tRPC, which makes them functions that are called by themselves */
export function shopProcedures({ db, transformer }: ShopOptions, caller?: CallerOverride) {
  const t = initShop(transformer)
  // The builder's type remembers that there is a caller; for the mutations it makes no difference.
  const called = caller && (t.procedure.experimental_caller(caller) as unknown as typeof t.procedure)
  // Nothing comes before the library: it sees the very ctx that all calls of a batch, and of a socket, share.
  const procedure = called ?? t.procedure
  const idempotency = createIdempotency({
    prisma: db.prisma,
    scope: ({ ctx }: { ctx: Context }) => userOf(ctx),
    headers: ({ ctx }: { ctx: Context }) => ctx.headers,
    ...(transformer && { serializer: transformer }),
  })
  return {
    t,
    transaction: idempotency.transaction(procedure),
    lease: idempotency.lease(procedure),
    /** Counts a run of an operation, past its transaction; gives how many there are now. */
    async countRun({ scope, key }: IdempotencyContext): Promise<number> {
      await db.countRun(`${scope} ${key}`)
      return db.runs(`${scope} ${key}`)
    },
  }
}

/** Input with anything beside it, for the transformer to carry there and back. */
export const NotedOrder = OrderInput.extend({ note: z.unknown() })

/** Writes an order and echoes all of its input. A second run is told by its answer. */
export function create({ transaction, countRun }: Procedures) {
  return transaction
    .meta({ path: 'shop.order.create' })
    .input(NotedOrder)
    .mutation(async ({ ctx, input }) => {
      const run = await countRun(ctx.idempotency)
      const { item, cents } = input
      await ctx.tx.order.create({ data: { customer: userOf(ctx), item, cents } })
      return { ...input, run }
    })
}

/** Answers nothing at all. */
export function confirm({ transaction, countRun }: Procedures) {
  return transaction
    .meta({ path: 'shop.order.confirm' })
    .input(NotedOrder)
    .mutation(async ({ ctx, input: { item, cents } }): Promise<void> => {
      await countRun(ctx.idempotency)
      await ctx.tx.order.create({ data: { customer: userOf(ctx), item: `${item}, confirmed`, cents } })
    })
}

/** Charges, and has its first run fail after that. */
export function pay({ lease, countRun }: Procedures) {
  return lease
    .meta({ path: 'shop.pay' })
    .input(NotedOrder)
    .mutation(async ({ ctx, input: { item, cents, note } }) => {
      const run = await countRun(ctx.idempotency)
      const charge = await ctx.idempotency.recoveryPoint('charge', () => ({ inRun: run, note }))
      if (run === 1) throw new TRPCError({ code: 'PRECONDITION_FAILED', message: 'the till is closed' })
      await ctx.idempotency.recoveryPoint.tx('order', async (tx) => {
        await tx.order.create({ data: { customer: userOf(ctx), item: `${item}, paid`, cents } })
      })
      return { charge, run }
    })
}

/** Nobody has an empty name, and an empty scope is refused. */
export function userOf({ user }: Context): string {
  return user?.id ?? ''
}

type Shop = ReturnType<typeof initShop>
type CallerOverride = Parameters<Shop['procedure']['experimental_caller']>[0]

function initShop(transformer: Serializer | undefined) {
  return initTRPC
    .context<Context>()
    .meta<{ path: string }>()
    .create({ errorFormatter: endOfErrorFormatter, ...(transformer && { transformer }) })
}
