import { createTRPCClient, httpLink } from '@trpc/client'
import { idempotencyErrorOf, idempotencyLink } from 'trpc-idempotency/client'
import type { Call, History } from './history.js'
import { CALL_HEADER } from './network.js'
import type { PlannedIntent } from './plannedIntent.js'
import { type CallContext, recordAttempts } from './recordAttempts.js'
import type { ChaosRouter } from './server/router.js'

/**
 * Short delays, and no patience with a server that is stopped: another one is asked while it still holds what it holds.
 */
const RETRY = {
  attemptTimeoutMs: 1200,
  deadlineMs: 10_000,
  baseDelayMs: 10,
  maxDelayMs: 150,
  retryBudget: 1_000_000,
}

export interface Sent {
  intent: PlannedIntent
  /** Which client of the intent's two it is, and which of its calls: it names what chance does to the call. */
  name: string
  /** Left out where the link is to make one. */
  key: string | undefined
  signal: AbortSignal
}

/** Sends an intent by one call of the link, and tells how that ended. */
export type Client = (sent: Sent) => Promise<Call>

/**
 * A client as an application has it, with a link below ours that notes what happens.
 *
 * @param maxAttempts how often a call sends an intent; whoever sends it again after that makes another call
 */
export function createClient(url: string, history: History, maxAttempts: number): Client {
  const client = createTRPCClient<ChaosRouter>({
    links: [
      idempotencyLink<ChaosRouter>({ mutations: { 'order.createOnce': true, checkout: true }, maxAttempts, ...RETRY }),
      recordAttempts(history),
      httpLink({
        url,
        headers({ op }) {
          const { customer, call } = op.context as unknown as CallContext
          return { 'x-customer': customer, [CALL_HEADER]: call }
        },
      }),
    ],
  })
  const keyOf = (call: string) => {
    const attempt = history.attempts.findLast((one) => one.call === call)
    if (attempt === undefined) throw new Error('A call was answered without an attempt.')
    return attempt.key
  }
  return async ({ intent, name, key, signal }) => {
    const { number, customer, procedure } = intent
    const call = `${number}/${name}`
    const input = { item: 'tea', cents: number }
    const told: CallContext = { customer, call }
    const context = { ...told, ...(key !== undefined && { idempotencyKey: key }) }
    const ended = (end: Pick<Call, 'key' | 'outcome' | 'reason'>): Call => {
      const record: Call = { kind: 'call', intent: number, call, endMs: Date.now(), ...end }
      history.calls.push(record)
      return record
    }
    try {
      const mutate = procedure === 'checkout' ? client.checkout.mutate : client.order.createOnce.mutate
      await mutate(input, { context, signal })
      return ended({ key: keyOf(call), outcome: 'EXECUTED', reason: undefined })
    } catch (error) {
      const failure = idempotencyErrorOf(error)
      if (failure === undefined) throw error
      return ended(
        failure.reason === undefined ? { ...failure, reason: undefined } : { ...failure, reason: failure.reason },
      )
    }
  }
}
