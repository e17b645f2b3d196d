import type { TRPCError } from '@trpc/server'
import { unwrap } from '../../wire/envelope.js'
import type { IncomingCall } from '../call/readCall.js'
import type { Serializer } from '../engine/serializer.js'
import { addIdempotencyErrorData, saysIdempotency } from '../errorShape.js'
import { IdempotencyError } from '../errors.js'
import { type ErrorShape, isReplayedError } from '../replayedError.js'
import { trpcError } from './answers.js'

export interface CallFailure {
  ok: false
  error: TRPCError
}

export type CallResult = { ok: true; data: unknown } | CallFailure

/** What tRPC hands to a middleware, as far as it is read here. */
export interface Call extends IncomingCall {
  type: string
  input: unknown
  next(overrides: { ctx: object; input: unknown; getRawInput(): Promise<unknown> }): Promise<CallResult>
}

/**
 * What the rest of the chain sees: the caller's input, and no envelope. `input` is set only where tRPC had put the
 * envelope there (server actions do); elsewhere it would be merged, unchecked, into what the parsers return.
 */
export function withInput(call: Call, ctx: object, input: unknown): Parameters<Call['next']>[0] {
  const enveloped = unwrap(call.input).kind !== 'bare'
  return { ctx, input: enveloped ? input : call.input, getRawInput: async () => input }
}

interface ErrorFormatterOptions {
  error: TRPCError
  shape: ErrorShape
}

/** The part of a procedure builder that is called. Its own types cannot express a middleware that is generic in ctx. */
export interface Builder {
  use(middleware: (call: Call) => Promise<CallResult>): Builder
  /** From tRPC 11.22 on. */
  errors?(formatter: (opts: ErrorFormatterOptions) => unknown): Builder
  /** From tRPC 11.22 on with the router's config. */
  _def: {
    /** tRPC's own, for `.input()` and `.output()`, have a type. */
    middlewares?: { _type?: string }[]
    config?: {
      errorFormatter?(opts: ErrorFormatterOptions): ErrorFormatterOptions['shape']
      transformer?: { output: Serializer }
    }
  }
}

/** Puts `run` between the procedure's own middlewares and all that come after, and gives its errors their shape. */
export function wrapProcedure<Out>(procedure: object, run: (call: Call) => Promise<CallResult>): Out {
  const builder = procedure as Builder
  const { config } = builder._def
  // A shape that `.errors()` gives is final: the router's own formatter has its say here or not at all.
  const formatted = builder.errors?.((opts) => {
    const { cause } = opts.error
    if (isReplayedError(cause)) return cause.shape
    if (!saysIdempotency(opts.error)) return undefined
    const shape = config?.errorFormatter?.(opts) ?? opts.shape
    return addIdempotencyErrorData({ shape, error: opts.error })
  })
  const idempotent = (formatted ?? builder).use(async (call) => {
    if (call.type !== 'mutation') {
      throw new TypeError(`${call.path} is a ${call.type}; only mutations can be idempotent`)
    }
    try {
      return await run(call)
    } catch (error) {
      throw error instanceof IdempotencyError ? trpcError(error) : error
    }
  })
  return idempotent as Out
}
