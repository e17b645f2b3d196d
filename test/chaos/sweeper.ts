import { setTimeout as pause } from 'node:timers/promises'
import { createIdempotency, sweepOnce } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import type { PrismaClient } from '../../generated/prisma/client.js'

const MINUTE = 60_000
/** Less than that of the servers: of two deploys, the one that remembers less decides what is forgotten. */
const RETENTION_MS = 10 * MINUTE
/** What a sweep adds to the retention before it raises the watermark. */
const MARGIN_MS = MINUTE
/** How long a key of age is still good, in ms, at the least and at the most; at less than none it is refused at once. */
const STILL_GOOD_MS = [-1000, 6000] as const
const EVERY_MS = 700

/** A key that was born so long ago that it is swept in a moment. @param chance even over [0, 1) */
export function agedKey(chance: number): string {
  const [least, most] = STILL_GOOD_MS
  return v7({ msecs: Date.now() - RETENTION_MS - MARGIN_MS + least + chance * (most - least) })
}

export interface Sweeper {
  /** How many keys were swept. */
  swept(): number
  stop(): void
}

/**
 * Sweeps again and again. Between two sweeps a margin passes for the watermark, without anybody waiting for it: not the
 * clock is set, but what is in the table is aged.
 */
export function startSweeper(prisma: PrismaClient): Sweeper {
  const idempotency = createIdempotency({ prisma, scope: () => 'sweeper', retentionMs: RETENTION_MS })
  let swept = 0
  let stopped = false
  const sweepForEver = async () => {
    while (!stopped) {
      try {
        await prisma.$executeRaw`update idempotency_watermark set raised_at = raised_at - interval '61 seconds'`
        swept += (await sweepOnce(idempotency)).deleted
      } catch {
        // Postgres is crashed from time to time. A sweep that failed is made up for by the next one.
      }
      await pause(EVERY_MS)
    }
  }
  void sweepForEver()
  return {
    swept: () => swept,
    stop() {
      stopped = true
    },
  }
}
