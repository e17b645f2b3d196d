import { initTRPC } from '@trpc/server'
import { createIdempotency, withIdempotency } from 'trpc-idempotency/server'
import { z } from 'zod'

/**
 * What the library costs those who do not use it: a transaction without a claim on a wrapped adapter, a procedure that is not
 * wrapped beside one that is, and a call of a wrapped one without a key, which is refused.
 */
export async function passThrough() {
  const [bare, wrapped] = await Promise.all([idleAdapter().connect(), withIdempotency(idleAdapter()).connect()])
  const caller = t.createCallerFactory(router())({})
  const input = { item: 'tea', cents: 350 }
  return {
    'a transaction of an adapter that does nothing': () => bare.startTransaction(),
    'the same, wrapped by `withIdempotency`, without a claim': () => wrapped.startTransaction(),
    'a procedure that is not idempotent, without effect': () => caller.plain(input),
    'an idempotent one, called without a key: refused': () => caller.idempotent(input).catch(() => undefined),
  }
}

const t = initTRPC.create()

function router() {
  const unreachable = () => Promise.reject(new Error('nothing here reaches the database'))
  const prisma = { $transaction: unreachable, $queryRawUnsafe: unreachable, $executeRawUnsafe: unreachable }
  const idempotency = createIdempotency({ prisma, scope: () => 'alice' })
  const Input = z.object({ item: z.string(), cents: z.int() })
  return t.router({
    plain: t.procedure.input(Input).mutation(({ input }) => input.item),
    idempotent: idempotency
      .transaction(t.procedure)
      .input(Input)
      .mutation(({ input }) => input.item),
  })
}

function idleAdapter() {
  const transaction = { options: { usePhantomQuery: false } }
  const pool = { connect: async () => undefined }
  const adapter = { startTransaction: async () => transaction, underlyingDriver: () => pool }
  return { connect: async () => adapter }
}
