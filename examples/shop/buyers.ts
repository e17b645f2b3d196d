import { createTRPCClient, httpLink, retryLink, TRPCClientError } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import { v7 } from 'uuid'
import type { ShopRouter } from './router.js'

/** Places one order and waits for the answer. */
export type Buyer = (order: { customer: string; url: string; signal: AbortSignal }) => Promise<void>

export const ORDER = { item: 'tea', cents: 1990 }

// The most that the link allows; at the default loss nobody comes near it. Short delays, because this network is a
// process on the same machine: those of real life would only make the demo slow.
const RETRY = { maxAttempts: 100, baseDelayMs: 5, maxDelayMs: 50 }

/** Sends again until there is a reply, as one does who knows nothing of idempotency. */
export const buyWithPlainRetry: Buyer = ({ customer, url, signal }) => {
  const client = createTRPCClient<ShopRouter>({
    links: [
      retryLink({
        retry: ({ error, attempts }) => attempts < RETRY.maxAttempts && isWithoutAnswer(error) && !signal.aborted,
        retryDelayMs: (attempts) => Math.random() * Math.min(RETRY.maxDelayMs, RETRY.baseDelayMs * 2 ** (attempts - 1)),
      }),
      httpLink({ url, headers: { 'x-customer': customer } }),
    ],
  })
  return untilAnswered(signal, () => client.order.create.mutate(ORDER, { signal }))
}

/** The same with an idempotency key; `idempotencyLink` sends again. */
export const buyIdempotently: Buyer = ({ customer, url, signal }) => {
  const client = createTRPCClient<ShopRouter>({
    links: [
      idempotencyLink<ShopRouter>({ mutations: { 'order.createOnce': true }, ...RETRY }),
      httpLink({ url, headers: { 'x-customer': customer } }),
    ],
  })
  // The link would make a key by itself. This one lasts longer than its patience: see untilAnswered.
  const context = { idempotencyKey: v7() }
  return untilAnswered(signal, () => client.order.createOnce.mutate(ORDER, { signal, context }))
}

/**
 * When the attempts are used up, the customer presses the button again. Without this, one order in 170 would go without
 * an answer at the highest loss (0.95 to the power of 100), and the counts would say nothing.
 */
async function untilAnswered(signal: AbortSignal, press: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await press()
      return
    } catch (error) {
      if (signal.aborted || !(error instanceof TRPCClientError) || !isWithoutAnswer(error)) throw error
    }
  }
}

/** An error of the server has a shape. One without is the network's. */
function isWithoutAnswer(error: { shape?: unknown }): boolean {
  return error.shape === undefined || error.shape === null
}
