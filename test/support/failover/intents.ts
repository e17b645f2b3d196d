import { createTRPCClient, httpLink } from '@trpc/client'
import { v7 } from 'uuid'
import { type Shop, untyped } from '../untypedClient.js'

/** One intent and the answer that its client was given in the end. */
export interface Acknowledged {
  key: string
  customer: string
  answer: unknown
}

export interface Load {
  /** In the order in which they were answered. */
  acknowledged: Acknowledged[]
  /** Lets every client end the intent that it is at. */
  stop(): Promise<void>
}

const BALANCER = 'http://balancer'
/** A retry every 20 to 500 ms for a minute: longer than a promotion takes, and no pause of this test is longer. */
const RETRY = { maxAttempts: 100, baseDelayMs: 20, maxDelayMs: 500, attemptTimeoutMs: 20_000, retryBudget: 1000 }

/**
 * Clients that each send one intent after the other, to the servers in turn as a balancer would, by the link and nothing
 * else: it decides what is sent again.
 *
 * @param path the mutation, of which each intent has a customer of its own
 */
export function startLoad(servers: readonly string[], path: 'create' | 'pay', clients: number): Load {
  const acknowledged: Acknowledged[] = []
  let sent = 0
  let stopped = false
  let turn = 0
  const nextServer = () => {
    turn += 1
    return servers[turn % servers.length] ?? ''
  }
  const buyAll = async () => {
    while (!stopped) {
      sent += 1
      const customer = `customer-${sent}`
      const key = v7()
      const client = createTRPCClient<Shop>({
        links: [
          untyped({ mutations: { [path]: true }, ...RETRY }),
          httpLink({
            url: BALANCER,
            headers: { 'x-user': customer },
            fetch: (url, init) => fetch(String(url).replace(BALANCER, nextServer()), init as RequestInit),
          }),
        ],
      })
      const send = client[path as 'create'].mutate
      const answer = await send({ item: 'tea', cents: sent }, { context: { idempotencyKey: key } })
      acknowledged.push({ key, customer, answer })
    }
  }
  const ended = Promise.all(Array.from({ length: clients }, buyAll))
  // Told by `stop`, not by the process.
  ended.catch(() => undefined)
  return {
    acknowledged,
    async stop() {
      stopped = true
      await ended
    },
  }
}
