import type { PrismaClient } from '../../generated/prisma/client.js'

/** What the checkouts came to. */
export interface Ledger {
  intents: number
  /** Counted at the provider: a customer who is charged twice is there twice. */
  charges: number
  /** Payments in the database. */
  paid: number
  /** How often an attempt went on where an earlier one had failed or died. */
  takeovers: number
}

export async function countInDatabase(prisma: PrismaClient): Promise<Pick<Ledger, 'paid' | 'takeovers'>> {
  // As float8: an exact number in JavaScript, where bigint would be none that JSON knows.
  const [counts] = await prisma.$queryRaw<[Pick<Ledger, 'paid' | 'takeovers'>]>`
    select
      (select count(*) from payments)::float8 as paid,
      (select coalesce(sum(fence - 1), 0) from idempotency_keys)::float8 as takeovers`
  return counts
}
