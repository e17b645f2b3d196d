import type { TRPCClientError, TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { type ErrorShape, errorEnd } from './endOf.js'
import type { Attempt, History } from './history.js'
import type { ChaosRouter } from './server/router.js'

/** What a call of the link is told by its caller. */
export interface CallContext {
  customer: string
  call: string
}

/** A link that notes what becomes of each attempt. It goes below the one that makes the attempts. */
export function recordAttempts(history: History): TRPCLink<ChaosRouter> {
  return () =>
    ({ op, next }) =>
      observable((observer) => {
        const { '~idempotency': carried, '~input': input } = op.input as {
          '~idempotency': { key: string; attempt: number }
          '~input': { cents: number }
        }
        const { customer, call } = op.context as unknown as CallContext
        const attempt: Attempt = {
          ...carried,
          kind: 'attempt',
          intent: input.cents,
          customer,
          call,
          startMs: Date.now(),
          endMs: Number.POSITIVE_INFINITY,
          end: { kind: 'nothing' },
        }
        history.attempts.push(attempt)
        const ends = (end: Attempt['end']) => {
          if (attempt.endMs !== Number.POSITIVE_INFINITY) return
          attempt.endMs = Date.now()
          attempt.end = end
        }
        const subscription = next(op).subscribe({
          next(value) {
            const { result } = value as { result: { data?: unknown } }
            ends({ kind: 'answer', text: JSON.stringify(result.data) })
            observer.next(value)
          },
          error(error) {
            const { shape } = error as TRPCClientError<ChaosRouter>
            ends(errorEnd((shape ?? {}) as ErrorShape))
            observer.error(error)
          },
          complete: () => observer.complete(),
        })
        return () => {
          // The link above has lost its patience.
          ends({ kind: 'nothing' })
          subscription.unsubscribe()
        }
      })
}
