import { idempotencyContext, leaseContext, refuseNested } from '../context.js'
import { markAfterEffect } from '../errorShape.js'
import { readLeaseOptions } from '../leaseOptions.js'
import { type LeaseHandled, leaseMode } from '../modes/lease.js'
import type { Handled } from '../modes/runInTransaction.js'
import { transactionMode } from '../modes/transaction.js'
import { releaseOperation, resolveOperation } from '../ops/operator.js'
import { statusOf } from '../ops/status.js'
import { readSharedOptions, readTransactionOptions } from '../options.js'
import { type CallReader, readCall } from '../readCall.js'
import { type PrismaLike, prismaDatabase } from '../store/prisma.js'
import { sqlLeaseStore } from '../store/sqlLeaseStore.js'
import { sqlStore } from '../store/sqlStore.js'
import { sqlSweeper } from '../store/sqlSweeper.js'
import { answer, finalShape, isRefusal } from './answers.js'
import type { Idempotency, IdempotencyOptions } from './idempotency.js'
import {
  type CallFailure,
  type CallResult,
  checkSerializer,
  checkShapes,
  withInput,
  wrapProcedure,
} from './procedure.js'

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
  const leases = sqlLeaseStore(database, settings, store)
  const maxBytes = settings.transaction.maxResultBytes
  const runTransaction = transactionMode(store, serializer)
  const runLease = leaseMode(leases, serializer)
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
        return answer(end.outcome, { procedure: call.path, serializer })
      })
    },
    lease(procedure, own = {}) {
      const { settings: lease, isDefinite = isRefusal, storeError } = readLeaseOptions(own, settings.transaction)
      checkSerializer(procedure, serializer)
      if (storeError !== undefined) checkShapes(procedure)
      return wrapProcedure(procedure, async (call) => {
        refuseNested(call)
        const { operation, attempt, input } = await readCall(call, reader)
        const failureOf = ({ error, ...rest }: CallFailure): LeaseHandled<CallFailure> => {
          if (storeError?.(error)) return { ok: false, kind: 'final', shape: finalShape(procedure, call, error) }
          const failure = { ...rest, error }
          return isDefinite(error)
            ? { ok: false, kind: 'definite', failure }
            : { ok: false, kind: 'indefinite', error, failure }
        }
        const end = await runLease({
          operation,
          attempt,
          settings: lease,
          async handle(held) {
            const idempotency = leaseContext(operation, attempt, held)
            const result = await call.next(withInput(call, { idempotency }, input))
            if (result.ok) return { ok: true, data: result.data }
            // A refusal after a charge: that the handler failed is no word on what it did before.
            if (held.isRecorded()) markAfterEffect(result.error)
            return failureOf(result)
          },
        })
        if (end.kind === 'failed') return end.failure
        return answer(end.outcome, { procedure: call.path, serializer })
      })
    },
    resolve: ({ result, ...of }) => resolveOperation(of, { store: leases, serializer, maxBytes, result }),
    release: (of) => releaseOperation(of, leases),
    status: (of) => statusOf(of, { store, serializer }),
    sweeper: sqlSweeper(database, settings),
  }
}
