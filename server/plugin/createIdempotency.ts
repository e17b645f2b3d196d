import { type CallReader, readCall } from '../call/readCall.js'
import { markReplayed } from '../call/replayed.js'
import { idempotencyContext, leaseContext, refuseNested } from '../context.js'
import { markAfterEffect } from '../errorShape.js'
import { readLeaseOptions } from '../leaseOptions.js'
import { type LeaseHandled, leaseMode } from '../modes/lease.js'
import type { Handled } from '../modes/runInTransaction.js'
import { transactionMode } from '../modes/transaction.js'
import { forgetScope } from '../ops/forget.js'
import { releaseOperation, resolveOperation } from '../ops/operator.js'
import { statusOf } from '../ops/status.js'
import { readSharedOptions, readTransactionOptions } from '../options.js'
import { sqlPartitioner } from '../store/partitions/sqlPartitioner.js'
import { type PrismaLike, prismaDatabase } from '../store/prisma.js'
import { sealBy } from '../store/seal.js'
import { sqlEraser } from '../store/sqlEraser.js'
import { sqlLeaseStore } from '../store/sqlLeaseStore.js'
import { sqlStore } from '../store/sqlStore.js'
import { sqlSweeper } from '../store/sqlSweeper.js'
import { answer, finalShape, isRefusal } from './answers.js'
import { checkProcedure } from './checks.js'
import type { Idempotency, IdempotencyOptions } from './idempotency.js'
import { type CallFailure, wrapProcedure } from './procedure.js'
import { hadFalseInput, runHandler } from './runHandler.js'

/**
 * Binds idempotency to a database and to whom keys belong to.
 *
 * @throws TypeError where an option is wrong; the message names option, bound and value
 */
export function createIdempotency<
  Client extends PrismaLike,
  Ctx extends object,
  // One of its own: two functions that need different parts of ctx would else have to agree on one type.
  HeadersCtx extends object = object,
>(options: IdempotencyOptions<Client, Ctx, HeadersCtx>): Idempotency<Client, Ctx & HeadersCtx> {
  const settings = readSharedOptions(options)
  const { serializer } = settings
  const database = prismaDatabase(options.prisma)
  const seal = sealBy(settings.seal)
  const store = sqlStore(database, { ...settings, seal })
  const leases = sqlLeaseStore(database, { ...settings, seal }, store)
  const eraser = sqlEraser(database, settings)
  const maxBytes = settings.transaction.maxResultBytes
  const runTransaction = transactionMode(store, serializer)
  const runLease = leaseMode(leases, serializer)
  const { headers } = options
  const reader: CallReader = {
    serializer,
    scope: ({ ctx }) => options.scope({ ctx: ctx as Ctx }),
    headers: headers === undefined ? undefined : ({ ctx }) => headers({ ctx: ctx as HeadersCtx }),
    keyed: (name, fingerprint) => seal(name).fingerprint(fingerprint),
  }
  const readsHeaders = headers !== undefined

  return {
    transaction(procedure, own = {}) {
      const transaction = readTransactionOptions(own, settings.transaction)
      const { storeError } = transaction
      const storesErrors = storeError !== undefined
      checkProcedure(procedure, { serializer, readsHeaders, storesErrors })
      return wrapProcedure(procedure, async (call) => {
        refuseNested(call)
        const { operation, attempt, input } = await readCall(call, reader)
        const idempotency = idempotencyContext(operation, attempt)
        let runs = 0
        const end = await runTransaction({
          operation,
          attempt,
          settings: input.repeatable ? transaction : { ...transaction, maxReruns: 0 },
          storesErrors,
          async handle(tx): Promise<Handled<CallFailure>> {
            runs += 1
            const result = await runHandler(call, { tx, idempotency }, input)
            if (result.ok) return { ok: true, data: result.data }
            const { error } = result
            const shape = storeError?.(error)
              ? await finalShape(procedure, call, { error, attemptOutcome: 'NOT_EXECUTED' })
              : undefined
            return { ok: false, error, failure: result, shape }
          },
        })
        if (end.kind === 'failed') return end.failure
        if (runs === 0) markReplayed(call.getRawInput)
        return answer(end.outcome, { procedure: call.path, serializer })
      })
    },
    lease(procedure, own = {}) {
      const { settings: lease, isDefinite = isRefusal, storeError } = readLeaseOptions(own, settings.transaction)
      checkProcedure(procedure, { serializer, readsHeaders, storesErrors: storeError !== undefined })
      return wrapProcedure(procedure, async (call) => {
        refuseNested(call)
        const { operation, attempt, input } = await readCall(call, reader)
        const failureOf = async ({ error, ...rest }: CallFailure): Promise<LeaseHandled<CallFailure>> => {
          const definite = isDefinite(error) && !hadFalseInput(error)
          if (storeError?.(error)) {
            const attemptOutcome = definite ? 'NOT_EXECUTED' : 'UNKNOWN'
            return { ok: false, kind: 'final', shape: await finalShape(procedure, call, { error, attemptOutcome }) }
          }
          const failure = { ...rest, error }
          return definite ? { ok: false, kind: 'definite', failure } : { ok: false, kind: 'indefinite', error, failure }
        }
        let runs = 0
        const end = await runLease({
          operation,
          attempt,
          settings: lease,
          async handle(held) {
            runs += 1
            const result = await runHandler(call, { idempotency: leaseContext(operation, attempt, held) }, input)
            if (result.ok) return { ok: true, data: result.data }
            // A refusal after a charge: that the handler failed is no word on what it did before.
            if (held.isRecorded() || hadFalseInput(result.error)) markAfterEffect(result.error)
            return failureOf(result)
          },
        })
        if (end.kind === 'failed') return end.failure
        if (runs === 0) markReplayed(call.getRawInput)
        return answer(end.outcome, { procedure: call.path, serializer })
      })
    },
    resolve: ({ result, ...of }) => resolveOperation(of, { store: leases, serializer, maxBytes, result }),
    release: (of) => releaseOperation(of, leases),
    forget: (of) => forgetScope(of, eraser),
    status: (of) => statusOf(of, { store, serializer }),
    sweeper: sqlSweeper(database, settings),
    partitioner: sqlPartitioner(database, settings),
  }
}
