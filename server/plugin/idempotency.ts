import type { TRPCProcedureBuilder } from '@trpc/server'
import type { Idempotent } from '../../wire/mark.js'
import type { RequestHeaders } from '../call/headers.js'
import type { IdempotencyContext, LeaseContext } from '../context.js'
import type { LeaseOptions } from '../leaseOptions.js'
import type { Forgotten } from '../ops/forget.js'
import type { OperationStatus } from '../ops/status.js'
import type { SharedOptions, TransactionOptions } from '../options.js'
import type { Sweeper } from '../store/keyStore.js'
import type { Partitioner } from '../store/partitions/partitioner.js'
import type { PrismaLike, TransactionClient } from '../store/prisma.js'

export interface IdempotencyOptions<Client extends PrismaLike, Ctx extends object, HeadersCtx extends object = object>
  extends SharedOptions {
  /** The application's PrismaClient, with its extensions. Prisma 6.16 or later, or 7. */
  prisma: Client
  /**
   * Whom the keys of a call belong to: a user, a tenant, both. Annotate `ctx` with what it needs; a procedure whose
   * context lacks it does not compile. A scope that is empty or reads like a forgotten value is refused.
   */
  scope(call: { ctx: Ctx }): string | Promise<string>
  /**
   * Finds the headers of the request in the context, where clients send keys as `Idempotency-Key`: other clients than
   * ours, and ours for binary input or with `carrier: 'header'`. `undefined` for calls that have no request.
   */
  headers?(call: { ctx: HeadersCtx }): RequestHeaders | null | undefined
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
   * Makes the mutations of a procedure builder idempotent, in lease mode, for effects outside the database: the claim
   * commits first, the handler runs with no transaction open, its result is stored after. What it does outside belongs
   * into recovery points: `ctx.idempotency.recoveryPoint(name, ({ key }) => ...)`.
   *
   * @throws TypeError where an option is out of bounds; the message names option, bound and value
   */
  lease<C, Meta, Overrides, InputIn, InputOut, OutputIn, OutputOut, Caller extends boolean>(
    procedure: TRPCProcedureBuilder<C, Meta, Overrides, InputIn, InputOut, OutputIn, OutputOut, Caller> &
      ContextHas<Ctx, C, Overrides>,
    options?: LeaseOptions,
  ): TRPCProcedureBuilder<
    C,
    Meta & Idempotent,
    Overwrite<Overrides, { idempotency: LeaseContext<TransactionClient<Client>> }>,
    InputIn,
    InputOut,
    OutputIn,
    OutputOut,
    Caller
  >

  /**
   * Settles an operation that is abandoned or was released, by an operator's word: from now on every attempt is answered
   * with `result`. Its holder, should it still be there, can change nothing any more.
   *
   * @throws Error where the operation is settled, unknown, or under a lease that lives; IdempotencyError KEY_INVALID,
   *   SCOPE_MISSING, RESULT_NOT_STORABLE, RESULT_TOO_LARGE or STORE_UNAVAILABLE
   */
  resolve(of: { scope: string; key: string; result: unknown }): Promise<void>

  /** Gives such an operation back: the next attempt takes it over, and answers recovery points from their record. */
  release(of: { scope: string; key: string }): Promise<void>

  /**
   * Erases every result that is stored of a scope, such as that of a user who left. Each key keeps a tombstone: sent
   * again it is refused with RESULT_ERASED, and never executed. An operation that is running meanwhile stores its result
   * after: end the scope's sessions first.
   *
   * @throws IdempotencyError SCOPE_MISSING; STORE_UNAVAILABLE where the database failed: call it again, it goes on
   */
  forget(of: { scope: string }): Promise<Forgotten>

  /**
   * Asks the table about an operation, for support and for operators. It changes nothing and grants nothing.
   *
   * @throws IdempotencyError KEY_INVALID, SCOPE_MISSING, RESULT_NOT_READABLE or STORE_UNAVAILABLE
   */
  status(of: { scope: string; key: string }): Promise<OperationStatus>

  /** What `sweepOnce` works with. */
  readonly sweeper: Sweeper

  /** What `maintainPartitions` works with. */
  readonly partitioner: Partitioner
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
