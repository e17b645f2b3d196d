import { TRPCError } from '@trpc/server'
import { chances } from '../../../examples/support/chances.js'
import type { PrismaClient } from '../../../generated/prisma/client.js'

/** The part of the writes after which the handler fails. */
const ODDS = 0.02

/**
 * Makes handlers fail sometimes after they have written, with a refusal as an application makes it. What they wrote must
 * go with it.
 *
 * @param name of the server: which of its writes are hit depends on it, on their number and on the seed
 */
export function soldOutSometimes(prisma: PrismaClient, { seed, name }: { seed: number; name: string }): PrismaClient {
  let writes = 0
  const failSometimes = async <Result>(written: Promise<Result>): Promise<Result> => {
    writes += 1
    const [chance] = chances(seed, `sold out/${name}/${writes}`)
    const result = await written
    if (chance < ODDS) throw new TRPCError({ code: 'CONFLICT', message: 'The item is sold out.' })
    return result
  }
  const extended = prisma.$extends({
    query: {
      order: { create: ({ args, query }) => failSometimes(query(args)) },
      payment: { create: ({ args, query }) => failSometimes(query(args)) },
    },
  })
  // An extended client has another type, although all that the routers use of it is the same.
  return extended as unknown as PrismaClient
}
