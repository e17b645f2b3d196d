import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { addIdempotencyErrorData, isIdempotencyError, withIdempotencyKey } from 'trpc-idempotency/server'
import type { Caller, Refusal } from './transport.js'

/** A caller in the server's own process, with the functions that it calls by their paths: the key goes in by hand. */
export function callerInProcess(mutations: Record<string, unknown>): Caller {
  const mutate = (path: string, input: unknown) => (mutations[path] as (input: unknown) => Promise<unknown>)(input)
  return {
    requests: [],
    call: (path, input, key) => mutate(path, withIdempotencyKey(input, key)),
    callWithout: mutate,
    read,
  }
}

/** What an error says that never was on a wire: that of the library is its cause. */
function read(error: unknown): Refusal {
  if (!(error instanceof TRPCError)) throw error
  const { code, message, cause } = error
  const refusal = { code, message, httpStatus: getHTTPStatusCodeFromError(error) }
  if (isIdempotencyError(cause)) return { ...refusal, reason: cause.reason, attemptOutcome: cause.attemptOutcome }
  // A handler's own error has no such cause, but may have left something behind.
  return { ...refusal, ...idempotencyOf(error) }
}

function idempotencyOf(error: TRPCError): object {
  const { data } = addIdempotencyErrorData<{ data: { idempotency?: object } }>({ shape: { data: {} }, error })
  return data.idempotency ?? {}
}
