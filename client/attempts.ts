import { type Operation, type OperationLink, type OperationResultObserver, TRPCClientError } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { backoff } from './backoff.js'
import { type Carrier, carry } from './carrier.js'
import { aborted, failed, unprotected } from './failure.js'
import type { Intent, Intents } from './intents.js'
import { judgeCarried, mayBeRenamed } from './judge.js'
import type { RetryPolicy } from './options.js'

type Failure = TRPCClientError<AnyTRPCRouter>

export interface Sending {
  op: Operation
  intent: Intent
  intents: Intents
  policy: RetryPolicy
  carrier: Carrier
  next: Parameters<OperationLink<AnyTRPCRouter>>[0]['next']
}

/**
 * Sends an intent again and again, with one key, until an answer is final, the attempts are used up or the caller
 * aborts.
 *
 * @returns what stops it without an answer
 */
export function sendUntilAnswered(
  { op, intent, intents, policy, carrier, next }: Sending,
  observer: OperationResultObserver<AnyTRPCRouter, unknown>,
): () => void {
  let over = false
  let stopWaiting = (): void => undefined

  const finish = (report: () => void): void => {
    if (over) return
    over = true
    stopWaiting()
    op.signal?.removeEventListener('abort', onAbort)
    if (!intent.outcomeUnknown) intents.end(op)
    report()
  }
  // The signal alone tells an abort: links report an AbortError also when nobody aborted.
  const onAbort = (): void => finish(() => observer.error(aborted(op.path, intent)))

  const send = (): void => {
    intent.attempts += 1
    const unknownBefore = intent.outcomeUnknown
    // As long as there is no answer, it may be executing.
    intent.outcomeUnknown = true
    let answered = false
    const { op: carrying, header } = carry(op, { key: intent.key, attempt: intent.attempts }, carrier)

    const onFailure = (error: Failure | undefined): void => {
      if (answered || over) return
      answered = true
      stopWaiting()
      const verdict = judgeCarried(error, intent.minted, header?.state)
      intent.outcomeUnknown = unknownBefore || verdict.leavesOutcomeUnknown
      const serverTimeMs = verdict.said?.serverTimeMs
      if (serverTimeMs !== undefined) intents.learnTime(serverTimeMs)
      const renamed = mayBeRenamed(verdict, intent)
      if ((!verdict.again && !renamed) || intent.attempts >= policy.maxAttempts) {
        const reported =
          header?.state === 'waiting' && verdict.said?.reason === 'KEY_MISSING'
            ? unprotected(op.path, 'sent')
            : (error ?? new Error(`${op.path}: the connection ended without an answer`))
        finish(() => observer.error(failed(reported, intent, verdict)))
        return
      }
      if (renamed) {
        intents.renameKey(intent)
        send()
        return
      }
      const delay = setTimeout(send, backoff(intent.attempts, policy, verdict.said?.retryAfterMs))
      stopWaiting = () => clearTimeout(delay)
    }

    const onTimeout = (): void => {
      onFailure(TRPCClientError.from(new Error(`${op.path}: no answer within ${policy.attemptTimeoutMs} ms`)))
    }
    const timeout = setTimeout(onTimeout, policy.attemptTimeoutMs)
    stopWaiting = () => clearTimeout(timeout)
    let value = false
    const subscription = next(carrying).subscribe({
      next(result) {
        if (answered || over) return
        value = true
        if (header?.state === 'waiting') {
          intent.outcomeUnknown = false
          const error = unprotected(op.path, 'executed')
          return finish(() => observer.error(failed(error, intent, { attemptOutcome: 'EXECUTED', said: undefined })))
        }
        observer.next(result)
      },
      error: onFailure,
      complete() {
        if (answered || over) return
        if (!value) return onFailure(undefined)
        answered = true
        intent.outcomeUnknown = false
        finish(() => observer.complete())
      },
    })
    if (answered || over) return // it answered at once, and the next attempt may be under way
    stopWaiting = () => {
      clearTimeout(timeout)
      subscription.unsubscribe()
    }
  }

  if (op.signal?.aborted) onAbort()
  else {
    op.signal?.addEventListener('abort', onAbort)
    send()
  }
  return () => finish(() => undefined)
}
