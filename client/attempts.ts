import type { Operation, OperationLink, OperationResultObserver, TRPCClientError } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import type { RetryBudget } from './budget.js'
import { type Carrier, carry } from './carrier.js'
import { delayMs, retryAfterMs } from './delay.js'
import type { IdempotencyEvent } from './events.js'
import { aborted, failed, type Known, unprotected } from './failure.js'
import type { Intent, Intents } from './intents.js'
import { judge, leavesOutcomeUnknown, mayBeRenamed } from './judge.js'
import type { LinkJournal } from './linkJournal.js'
import { whenOnline } from './online.js'
import type { RetryPolicy } from './options.js'

/** What a link reports; without a shape and meta where it is our own word. */
type Failure = Error & Partial<Pick<TRPCClientError<AnyTRPCRouter>, 'shape' | 'meta'>>

/** What all intents of one client share. */
export interface Sender {
  intents: Intents
  carrier: Carrier
  budget: RetryBudget
  journal: LinkJournal | undefined
  report(event: IdempotencyEvent): void
  /** In development: looks at what becomes of an attempt. */
  watch: ((op: Operation, isOver: () => boolean) => void) | undefined
}

export interface Sending {
  op: Operation
  intent: Intent
  policy: RetryPolicy
  next: Parameters<OperationLink<AnyTRPCRouter>>[0]['next']
  sender: Sender
}

/**
 * Sends an intent again and again, with one key, until an answer is final, the attempts, the time or the budget are used
 * up, or the caller aborts.
 *
 * @returns what stops it without an answer
 */
export function sendUntilAnswered(
  { op, intent, policy, next, sender }: Sending,
  observer: OperationResultObserver<AnyTRPCRouter, unknown>,
): () => void {
  const { intents, journal } = sender
  let over = false
  let stopWaiting = (): void => undefined
  // Of the last attempt; before the first one nothing was executed.
  let known: Known = { attemptOutcome: 'NOT_EXECUTED' }
  let lastError: Error | undefined

  const report = (event: Pick<IdempotencyEvent, 'type'> & Partial<IdempotencyEvent>): void =>
    sender.report({ path: op.path, key: intent.key, attempt: intent.attempts, ...event } as IdempotencyEvent)

  const finish = (tell: () => void): void => {
    if (over) return
    over = true
    stopWaiting()
    clearTimeout(deadline)
    op.signal?.removeEventListener('abort', onAbort)
    if (!intent.outcomeUnknown) intents.end(op)
    journal?.end(intent)
    tell()
  }
  const giveUp = (error: Error): void =>
    finish(() => {
      const failure = failed(error, intent, known)
      report({ type: 'give up', error: failure })
      observer.error(failure)
    })
  // The signal alone tells an abort: links report an AbortError also when nobody aborted.
  const onAbort = (): void => giveUp(aborted(op.path, intent))
  const noAnswer = (ms: number): Error => new Error(`${op.path}: no answer within ${ms} ms`)

  const send = (): void => {
    if (intent.isOurs?.() === false) giveUp(new Error(`${op.path}: somebody else is signed in now`))
    else if (journal === undefined) sendOnline()
    else journal.begin(op, intent.key).then(sendOnline, giveUp)
  }

  const sendOnline = (): void => {
    if (over) return
    const stop = whenOnline(attempt, () => report({ type: 'offline' }))
    if (stop !== undefined) stopWaiting = stop
  }

  const attempt = (): void => {
    intent.attempts += 1
    const unknownBefore = intent.outcomeUnknown
    // As long as there is no answer, it may be executing.
    intent.outcomeUnknown = true
    known = { attemptOutcome: 'UNKNOWN' }
    let answered = false
    const { op: carrying, header } = carry(op, { key: intent.key, attempt: intent.attempts }, sender.carrier)
    sender.watch?.(carrying, () => answered || over)
    report({ type: 'attempt' })

    const onFailure = (error: Failure): void => {
      if (answered || over) return
      answered = true
      stopWaiting()
      const verdict = judge(error, header?.state)
      known = verdict
      // What is stored speaks for all attempts.
      intent.outcomeUnknown = (unknownBefore && !verdict.said?.final) || leavesOutcomeUnknown(verdict, intent.minted)
      lastError = header?.state === 'waiting' && verdict.said?.reason === 'KEY_MISSING' ? unprotected(op.path) : error
      const { serverTimeMs } = verdict.said ?? {}
      if (serverTimeMs !== undefined) intents.learnTime(serverTimeMs)
      const renamed = mayBeRenamed(verdict, intent)
      const mayGoOn = (renamed || verdict.again) && intent.attempts < policy.maxAttempts
      if (!mayGoOn || !sender.budget.spend()) {
        giveUp(lastError)
        return
      }
      if (renamed) {
        journal?.end(intent)
        intents.renameKey(intent)
        send()
        return
      }
      const ms = delayMs(intent.attempts, policy, verdict.said?.retryAfterMs ?? retryAfterMs(error.meta?.['response']))
      report({ type: 'delay', delayMs: ms, error: lastError })
      const delay = setTimeout(send, ms)
      stopWaiting = () => clearTimeout(delay)
    }

    const timeout = setTimeout(() => onFailure(noAnswer(policy.attemptTimeoutMs)), policy.attemptTimeoutMs)
    stopWaiting = () => clearTimeout(timeout)
    let value = false
    const subscription = next(carrying).subscribe({
      next(result) {
        if (answered || over) return
        value = true
        if (header?.state === 'waiting') {
          intent.outcomeUnknown = false
          known = { attemptOutcome: 'EXECUTED' }
          return giveUp(unprotected(op.path))
        }
        observer.next(result)
      },
      error: onFailure,
      complete() {
        if (answered || over) return
        // tRPC's own links can end so.
        if (!value) return onFailure(new Error(`${op.path}: the connection ended without an answer`))
        answered = true
        intent.outcomeUnknown = false
        finish(() => {
          report({ type: 'success' })
          observer.complete()
        })
      },
    })
    if (answered || over) return // it answered at once, and the next attempt may be under way
    stopWaiting = () => {
      clearTimeout(timeout)
      subscription.unsubscribe()
    }
  }

  const deadline = setTimeout(() => giveUp(lastError ?? noAnswer(policy.deadlineMs)), policy.deadlineMs)
  if (op.signal?.aborted) onAbort()
  else {
    op.signal?.addEventListener('abort', onAbort)
    send()
  }
  return () => finish(() => undefined)
}
