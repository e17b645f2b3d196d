import process from 'node:process'
import type pg from 'pg'
import { Prisma, type PrismaClient } from '../../generated/prisma/client.js'

const isSix = Prisma.prismaVersion.client.startsWith('6.')

/** Closes a client's connections. */
export async function disconnect(prisma: PrismaClient): Promise<void> {
  const closed = prisma.$disconnect()
  // Prisma 6 never gives back a connection whose COMMIT or ROLLBACK failed, and then waits for it here, for ever.
  if (!isSix) await closed
}

/** Ends the pool of a client whose connections a test has broken. */
export async function endPool(pool: pg.Pool): Promise<void> {
  const ended = pool.end()
  if (!isSix) await ended // as above
}

/** What a test expects that differs between the two. */
export function byPrisma<Value>({ six, seven }: { six: Value; seven: Value }): Value {
  return isSix ? six : seven
}

/** A pool's settings under which no transaction waits for a connection much longer than its `maxWait`. */
export function boundedWait(maxWaitMs: number): { connectionTimeoutMillis?: number } {
  // Prisma 6 looks at its maxWait only once it has the connection.
  return isSix ? { connectionTimeoutMillis: maxWaitMs } : {}
}

/** Lets a process live on when the timer of a transaction cannot roll it back, as that of Prisma 7 does by itself. */
export function survivePrismasTimer(): void {
  // Nobody awaits what Prisma 6 does in its timer. Where the server has ended the session by then, that ends the process.
  if (isSix) process.on('unhandledRejection', (reason) => console.error(String(reason)))
}
