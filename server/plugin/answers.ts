import { getTRPCErrorShape, TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import type { AttemptOutcome, IdempotencyErrorData } from '../../wire/errorData.js'
import { REASONS } from '../../wire/reasons.js'
import { ofTheCall } from '../call/originalInput.js'
import type { Outcome } from '../engine/record.js'
import { jsonSerializer, type Serializer, toText } from '../engine/serializer.js'
import { addIdempotencyErrorData } from '../errorShape.js'
import type { IdempotencyError } from '../errors.js'
import type { TRPCErrorLike } from '../options.js'
import { readErrorShape, readResult } from '../readStored.js'
import { withoutResult } from '../refusals.js'
import { ReplayedError } from '../replayedError.js'
import type { Builder, Call, CallResult } from './procedure.js'

/**
 * Answers from what is stored. What was stored is what every attempt is given, the first one too: a value that came back
 * from its text, an error in the shape that it had.
 */
export function answer(outcome: Outcome, of: { procedure: string; serializer: Serializer }): CallResult {
  switch (outcome.kind) {
    case 'value':
      return { ok: true, data: readResult(outcome.result, of) }
    case 'tombstone':
      throw withoutResult(of, outcome.reason)
    case 'error': {
      const cause = new ReplayedError(readErrorShape(outcome.shape, of))
      const { code } = cause.shape.data as { code?: string }
      throw new TRPCError({ code: isCode(code) ? code : 'INTERNAL_SERVER_ERROR', message: cause.message, cause })
    }
  }
}

function isCode(code: string | undefined): code is TRPCError['code'] {
  return code !== undefined && Object.hasOwn(TRPC_ERROR_CODES_BY_KEY, code)
}

/** The default of `isDefinite`: a refusal (4xx), but for those that say that the time was up. */
export function isRefusal(error: TRPCErrorLike): boolean {
  const status = error.name === 'TRPCError' ? getHTTPStatusCodeFromError(error as TRPCError) : 500
  return status >= 400 && status < 500 && status !== 408 && status !== 499
}

interface FinalData {
  idempotency?: IdempotencyErrorData
}

/** The shape of an error as it goes over the wire, the application's own formatters included; without its stack. */
export async function finalShape(
  procedure: object,
  call: Call,
  { error, attemptOutcome }: { error: TRPCError; attemptOutcome: AttemptOutcome },
): Promise<string> {
  const { config } = (procedure as Builder)._def
  const { type, path, ctx } = call
  // As tRPC gives it to formatters: as it arrived.
  const input = await ofTheCall(call.getRawInput)()
  const shape = getTRPCErrorShape({ config, error, type, path, input, ctx } as never) as { data?: { stack?: unknown } }
  const { stack: _, ...data } = shape.data ?? {}
  const told = addIdempotencyErrorData({ shape: { ...shape, data: data as FinalData }, error })
  const idempotency: IdempotencyErrorData = { attemptOutcome, ...told.data.idempotency, final: true }
  return toText({ ...told, data: { ...told.data, idempotency } }, jsonSerializer) ?? ''
}

/** What tRPC is thrown for one of our own errors. */
export function trpcError(cause: IdempotencyError): TRPCError {
  return new TRPCError({ code: REASONS[cause.reason].code, message: cause.message, cause })
}
