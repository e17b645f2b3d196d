import { initTRPC } from '@trpc/server'
import { addIdempotencyErrorData } from 'trpc-idempotency/server'

/** Whether this tRPC's procedures have `.errors()`, as since 11.22: the library's errors then get their data by themselves. */
export const proceduresHaveErrors = 'errors' in initTRPC.create().procedure

/** Ends a router's error formatter as README.md asks for: with an older tRPC by adding our data, with a newer one by nothing. */
export const endOfErrorFormatter: typeof addIdempotencyErrorData = proceduresHaveErrors
  ? ({ shape }) => shape
  : addIdempotencyErrorData
