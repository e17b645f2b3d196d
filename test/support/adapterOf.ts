import process from 'node:process'
import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import { withIdempotency } from 'trpc-idempotency/server'

const wanted = process.env['TEST_WITH_WRAPPER']

/** Whether the library's statements are prepared as well: `TEST_WITH_WRAPPER=prepared`. */
export const prepared = wanted === 'prepared'

/** Whether the clients of the tests send claims together with BEGIN, and settles with COMMIT: `TEST_WITH_WRAPPER=1`. */
export const withWrapper = wanted === '1' || prepared

/** The adapter of a client of the tests. */
export function adapterOf(config: pg.PoolConfig | pg.Pool): PrismaPg {
  const adapter = new PrismaPg(config)
  return withWrapper ? withIdempotency(adapter, { prepare: prepared }) : adapter
}

/** The round trips that statements of one transaction take: with the wrapper some are sent together. */
export function asSent(statements: readonly string[]): string[] {
  if (!withWrapper) return [...statements]
  const text = statements
    .join('\n')
    .replace(/^BEGIN\n/m, 'BEGIN + ')
    .replace(/^settle\nCOMMIT$/m, 'settle + COMMIT')
  return text.split('\n')
}
