import { TRPCError } from '@trpc/server'
import type { PrismaClient } from '../../generated/prisma/client.js'

type Tx = Parameters<Parameters<PrismaClient['$transaction']>[0]>[0]

/** The table of the claims below. */
export const PLAIN_TABLE = 'create table plain_claims (key text primary key, result text)'

/**
 * What one writes by hand: the claim is a row in the transaction, and who finds it taken waits for its transaction, on
 * the connection of its own. Right about who runs, and nothing more: no fingerprint, scope, age or bound.
 */
export async function withPlainClaim(
  prisma: PrismaClient,
  key: string,
  work: (tx: Tx) => Promise<unknown>,
): Promise<unknown> {
  return prisma.$transaction(
    async (tx) => {
      const claimed = await tx.$executeRaw`insert into plain_claims (key) values (${key}) on conflict do nothing`
      if (claimed === 0) {
        const [row] = await tx.$queryRaw<{ result: string }[]>`select result from plain_claims where key = ${key}`
        if (row === undefined) throw new TRPCError({ code: 'CONFLICT' })
        return JSON.parse(row.result) as unknown
      }
      const result = await work(tx)
      await tx.$executeRaw`update plain_claims set result = ${JSON.stringify(result)} where key = ${key}`
      return result
    },
    // Else its own duplicates, which queue for the pool, make it fail.
    { maxWait: PATIENCE_MS, timeout: PATIENCE_MS },
  )
}

const PATIENCE_MS = 30_000
