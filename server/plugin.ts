import { TRPCError, type TRPCProcedureBuilder } from '@trpc/server'
import { unwrap } from '../wire/envelope.js'
import type { Idempotent } from '../wire/mark.js'
import { REASONS } from '../wire/reasons.js'
import { derivedKey } from './engine/derivedKey.js'
import type { Operation } from './engine/record.js'
import { fromText, jsonSerializer, type Serializer } from './engine/serializer.js'
import { addIdempotencyErrorData } from './errorShape.js'
import { IdempotencyError, isIdempotencyError } from './errors.js'
import type { Handled } from './modes/runInTransaction.js'
import { transactionMode } from './modes/transaction.js'
import { type OperationStatus, statusOf } from './ops/status.js'
import { readSharedOptions, readTransactionOptions, type SharedOptions, type TransactionOptions } from './options.js'
import { type CallReader, type IncomingCall, readCall } from './readCall.js'
import { refusal } from './refusals.js'
import type { Sweeper } from './store/keyStore.js'
import { type PrismaLike, prismaDatabase, type TransactionClient } from './store/prisma.js'
import { sqlStore } from './store/sqlStore.js'
import { sqlSweeper } from './store/sqlSweeper.js'

export interface IdempotencyOptions<Client extends PrismaLike, Ctx extends object> extends SharedOptions {
  /** The application's PrismaClient, with its extensions. Prisma 6.16 or later, or 7. */
  prisma: Client
  /**
   * Whom the keys of a call belong to: a user, a tenant, both. Annotate `ctx` with what it needs; a procedure whose
   * context lacks it does not compile. A scope that is empty or reads like a forgotten value is refused.
   */
  scope(call: { ctx: Ctx }): string | Promise<string>
}

/** What an idempotent handler finds in `ctx.idempotency`. */
export interface IdempotencyContext {
  readonly key: string
  readonly scope: string
  /** Which attempt of its client this is, counted from 1. */
  readonly attempt: number
  /** A key for a further call that belongs to this operation: the same in every attempt at it. A UUIDv7. */
  derivedKey(name: string): string
}

export interface Idempotency<Client extends PrismaLike, Ctx extends object> {
  /**
   * Makes the mutations of a procedure builder idempotent, in transaction mode: the claim of the key, everything that
   * the handler writes through `ctx.tx`, and the stored result commit together or not at all.
   *
   * @throws TypeError where an option is out of bounds; the message names option, bound and value
   */
  transaction<C, Meta, Overrides, InputIn, InputOut, OutputIn, OutputOut, Caller extends boolean>(
    procedure: TRPCProcedureBuilder<C, Meta, Overrides, InputIn, InputOut, OutputIn, OutputOut, Caller> &
      ContextHas<Ctx, C, Overrides>,
    options?: TransactionOptions,
  ): TRPCProcedureBuilder<
    C,
    Meta & Idempotent,
    Overwrite<Overrides, { tx: TransactionClient<Client>; idempotency: IdempotencyContext }>,
    InputIn,
    InputOut,
    OutputIn,
    OutputOut,
    Caller
  >

  /**
   * Asks the table about an operation, for support and for operators. It changes nothing and grants nothing.
   *
   * @throws IdempotencyError KEY_INVALID, SCOPE_MISSING or STORE_UNAVAILABLE
   */
  status(of: { scope: string; key: string }): Promise<OperationStatus>

  /** What `sweepOnce` works with. */
  readonly sweeper: Sweeper
}

type Simplify<T> = { [Key in keyof T]: T[Key] } & {}
/** Overrides of a context, as tRPC itself computes them. */
type Overwrite<Base, With> = Base extends object
  ? With extends object
    ? Simplify<Omit<Base, keyof With> & With>
    : Base
  : With
type ContextHas<Needed, C, Overrides> =
  Overwrite<C, Overrides> extends Needed ? unknown : { 'the context of this procedure lacks what `scope` needs': never }

/**
 * Binds idempotency to a database and to whom keys belong to.
 *
 * @throws TypeError where an option is wrong; the message names option, bound and value
 */
export function createIdempotency<Client extends PrismaLike, Ctx extends object>(
  options: IdempotencyOptions<Client, Ctx>,
): Idempotency<Client, Ctx> {
  const settings = readSharedOptions(options)
  const { serializer } = settings
  const database = prismaDatabase(options.prisma)
  const store = sqlStore(database, settings)
  const runTransaction = transactionMode(store, serializer)
  const reader: CallReader = { serializer, scope: ({ ctx }) => options.scope({ ctx: ctx as Ctx }) }

  return {
    transaction(procedure, own = {}) {
      const transaction = readTransactionOptions(own, settings.transaction)
      checkSerializer(procedure, serializer)
      return wrapProcedure(procedure, async (call) => {
        refuseNested(call)
        const { operation, attempt, input, inputAgain } = await readCall(call, reader)
        const idempotency = idempotencyContext(operation, attempt)
        let runs = 0
        const end = await runTransaction({
          operation,
          attempt,
          settings: transaction,
          async handle(tx): Promise<Handled<CallResult>> {
            runs += 1
            const given = runs === 1 ? input : inputAgain()
            const result = await call.next(withInput(call, { tx, idempotency }, given))
            return result.ok ? { ok: true, data: result.data } : { ok: false, error: result.error, failure: result }
          },
        })
        if (end.kind === 'failed') return end.failure
        // What was stored is what every attempt is given, the first one too: a value that came back from its text.
        return { ok: true, data: fromText(end.result, serializer) }
      })
    },
    status: (of) => statusOf(of, { store, serializer }),
    sweeper: sqlSweeper(database, settings),
  }
}

/** Marks what we put into ctx. A registered symbol, so that two copies of this package know each other's. */
const OURS = Symbol.for('trpc-idempotency.context')

function idempotencyContext({ key, scope }: Operation, attempt: number): IdempotencyContext {
  const context = { key, scope, attempt, derivedKey: (name: string) => derivedKey(key, scope, name) }
  return Object.defineProperty(context, OURS, { value: true })
}

/** A ctx that we made belongs to a handler that is running: what is called with it would run beside its transaction. */
function refuseNested({ ctx, path }: Call): void {
  const context = (ctx as { idempotency?: unknown }).idempotency
  if (typeof context === 'object' && context !== null && OURS in context) {
    throw refusal('NESTED', { procedure: path })
  }
}

type CallResult = { ok: true; data: unknown } | { ok: false; error: TRPCError }

/** What tRPC hands to a middleware, as far as it is read here. */
interface Call extends IncomingCall {
  type: string
  input: unknown
  next(overrides: { ctx: object; input: unknown; getRawInput(): Promise<unknown> }): Promise<CallResult>
}

/**
 * What the rest of the chain sees: the caller's input, and no envelope. `input` is set only where tRPC had put the
 * envelope there (server actions do); elsewhere it would be merged, unchecked, into what the parsers return.
 */
function withInput(call: Call, ctx: object, input: unknown): Parameters<Call['next']>[0] {
  const enveloped = unwrap(call.input).kind !== 'bare'
  return { ctx, input: enveloped ? input : call.input, getRawInput: async () => input }
}

interface ErrorFormatterOptions {
  error: TRPCError
  shape: { message: string; code: number; data: object }
}

/** The part of a procedure builder that is called. Its own types cannot express a middleware that is generic in ctx. */
interface Builder {
  use(middleware: (call: Call) => Promise<CallResult>): Builder
  /** From tRPC 11.22 on. */
  errors?(formatter: (opts: ErrorFormatterOptions) => unknown): Builder
  /** From tRPC 11.22 on with the router's config. */
  _def: {
    config?: {
      errorFormatter?(opts: ErrorFormatterOptions): ErrorFormatterOptions['shape']
      transformer?: { output: Serializer }
    }
  }
}

/**
 * A router that sends Dates needs a serializer that stores them: plain JSON would replay them as text.
 *
 * @throws TypeError where the router has a transformer and we were given none
 */
function checkSerializer(procedure: object, serializer: Serializer): void {
  const transformer = (procedure as Builder)._def.config?.transformer
  const probe = {}
  if (serializer !== jsonSerializer || transformer === undefined || transformer.output.serialize(probe) === probe)
    return
  throw new TypeError('createIdempotency: this router has a transformer; give the same one as the option serializer')
}

function wrapProcedure<Out>(procedure: object, run: (call: Call) => Promise<CallResult>): Out {
  const builder = procedure as Builder
  const { config } = builder._def
  // A shape that `.errors()` gives is final: the router's own formatter has its say here or not at all.
  const formatted = builder.errors?.((opts) => {
    if (!isIdempotencyError(opts.error.cause)) return undefined
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

function trpcError(cause: IdempotencyError): TRPCError {
  return new TRPCError({ code: REASONS[cause.reason].code, message: cause.message, cause })
}
