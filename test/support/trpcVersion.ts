import { createRequire } from 'node:module'
import { initTRPC } from '@trpc/server'
import { addIdempotencyErrorData } from 'trpc-idempotency/server'

/** Whether this tRPC's procedures have `.errors()`, as since 11.22: the library's errors then get their data by themselves. */
export const proceduresHaveErrors = 'errors' in initTRPC.create().procedure

const { version } = createRequire(import.meta.url)('@trpc/server/package.json') as { version: string }

/** Whether this tRPC's adapters have the option `maxBatchSize`, as since 11.15. */
export const batchesAreBounded = Number(version.split('.')[1]) >= 15

/** Ends a router's error formatter as README.md asks for: with an older tRPC by adding our data, with a newer one by nothing. */
export const endOfErrorFormatter: typeof addIdempotencyErrorData = proceduresHaveErrors
  ? ({ shape }) => shape
  : addIdempotencyErrorData
