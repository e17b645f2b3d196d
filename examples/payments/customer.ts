import { createTRPCClient, httpLink } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import type { PaymentsRouter } from './router.js'

const CART = { item: 'tea', cents: 1990 }

// The most that the link allows, and short delays: here no attempt is sure to be answered, and servers come back soon.
const RETRY = { maxAttempts: 100, baseDelayMs: 20, maxDelayMs: 500 }

/** Stands for the address of the shop, behind which there are several servers. */
const SHOP = 'http://shop'

export interface Visit {
  customer: string
  /** The address of the server that gets the next request. */
  nextUrl(): string
  signal: AbortSignal
}

/** Checks out once, and waits for the receipt. */
export async function checkOut({ customer, nextUrl, signal }: Visit): Promise<void> {
  const client = createTRPCClient<PaymentsRouter>({
    links: [
      idempotencyLink<PaymentsRouter>({ mutations: { checkout: true }, ...RETRY }),
      httpLink({
        url: SHOP,
        headers: { 'x-customer': customer },
        fetch: (url, init) => fetch(String(url).replace(SHOP, nextUrl()), init as RequestInit),
      }),
    ],
  })
  await client.checkout.mutate(CART, { signal })
}
