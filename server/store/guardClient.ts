import { usedPastTx } from '../refusals.js'
import { insideTransaction, startMarking } from './openTransaction.js'
import type { PrismaLike } from './prisma.js'

/** A PrismaClient that can be extended: any but the one of an open transaction. */
export interface ExtensibleClient extends PrismaLike {
  // biome-ignore lint/suspicious/noExplicitAny: its own type is generic in all that an extension can be.
  $extends: (extension: any) => unknown
}

/** A client of the same type, but for `$on`, which Prisma takes from every client that is extended. */
export type GuardedClient<Client> = Omit<Client, '$on'>

/** What Prisma hands to a hook on queries, as far as it is read here. */
interface QueryHook {
  args: unknown
  query(args: unknown): Promise<unknown>
  /** Prisma's own, and not promised: without it, no query can be told from one of a transaction. */
  __internalParams?: { transaction?: { kind?: string } | undefined }
}

/**
 * The same client, as a Prisma extension that refuses to be used inside of a transaction that this library opened. A
 * handler that takes the imported client for `ctx.tx` would write past its transaction, and can wait for a connection
 * that its own transaction holds. Export the client guarded, and such a handler fails at once instead.
 */
export function guardClient<Client extends ExtensibleClient>(prisma: Client): GuardedClient<Client> {
  startMarking()
  const guarded: unknown = prisma.$extends({
    name: 'trpc-idempotency',
    client: {
      // By itself no query, and yet it takes a connection.
      $transaction(this: object, ...args: unknown[]): unknown {
        if (isRoot(this)) refuseInside()
        return Reflect.apply(prisma.$transaction, this, args)
      },
    },
    query: {
      async $allOperations({ args, query, __internalParams }: QueryHook): Promise<unknown> {
        // A client inherits its extensions to its transactions: what runs in one, ours or another, is none of the root.
        if (__internalParams !== undefined && __internalParams.transaction?.kind !== 'itx') refuseInside()
        return query(args)
      },
    },
  })
  return guarded as GuardedClient<Client>
}

/** @throws IdempotencyError where the caller runs inside an open transaction of ours */
function refuseInside(): void {
  const transaction = insideTransaction()
  if (transaction !== undefined) throw usedPastTx(transaction)
}

/** The client of an open transaction cannot connect: Prisma takes that away from it, by its types too. */
function isRoot(client: { $connect?: unknown }): boolean {
  return typeof client.$connect === 'function'
}
