import { createTRPCClient, httpLink } from '@trpc/client'
import { idempotencyErrorOf, idempotencyHeaders, idempotencyLink } from 'trpc-idempotency/client'
import type { CorsRouter } from '../corsServer.js'

/** What the page's script does for the test: sends an order once, and tells what it was given to see. */
export interface CorsPage {
  order(of: { url: string; key: string; carrier: 'input' | 'header' }): Promise<{
    answer?: unknown
    outcome?: string | undefined
    replayed: string | null | undefined
  }>
}

const page: CorsPage = {
  async order({ url, key, carrier }) {
    let replayed: string | null | undefined
    const { create } = createTRPCClient<CorsRouter>({
      links: [
        idempotencyLink<CorsRouter>({ mutations: { create: true }, carrier, maxAttempts: 1 }),
        httpLink({
          url,
          headers: idempotencyHeaders(),
          async fetch(address, init) {
            const response = await fetch(address, init as RequestInit)
            replayed = response.headers.get('idempotency-replayed')
            return response
          },
        }),
      ],
    })
    try {
      const answer = await create.mutate({ item: 'tea', cents: 350 }, { context: { idempotencyKey: key } })
      return { answer, replayed }
    } catch (error) {
      return { outcome: idempotencyErrorOf(error)?.outcome, replayed }
    }
  },
}

Object.assign(globalThis, { page })
