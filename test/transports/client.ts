import { createTRPCUntypedClient, type HTTPLinkOptions, TRPCClientError, type TRPCLink } from '@trpc/client'
import { idempotencyLink } from 'trpc-idempotency/client'
import type { ShopRouter } from './shop.js'
import type { Caller, OpenShop, Refusal, Transport } from './transport.js'

/** What the links of a client are made of. */
export interface LinkOptions {
  user: string
  /** The library's link, or none: for callers without it. */
  before: TRPCLink<ShopRouter>[]
  /** Left out without a transformer, as the types of links demand it. */
  transformer: { transformer?: never }
  fetch: Fetch
}

/** How the client sends its keys. */
type Carrier = 'input' | 'header'

/** Gives the links of a client, once what they lead to is listening. */
export type Ending = (shop: OpenShop) => Promise<(options: LinkOptions) => TRPCLink<ShopRouter>[]>

/** Clients, and whatever is at the other end of their links. */
export function clientTransport({
  name,
  requests,
  ending,
  carrier = 'input',
}: Omit<Transport, 'open'> & { ending: Ending; carrier?: Carrier }): Transport {
  return {
    name,
    requests,
    async open(shop) {
      const links = await ending(shop)
      return (user) => callerOver({ links, carrier }, user, shop)
    },
  }
}

interface Way {
  links: Awaited<ReturnType<Ending>>
  carrier: Carrier
}

function callerOver({ links, carrier }: Way, user: string, { transformer }: OpenShop): Caller {
  const requests: string[] = []
  const options = {
    user,
    transformer: (transformer === undefined ? {} : { transformer }) as object,
    fetch: fetchNotedIn(requests),
  }
  const client = createTRPCUntypedClient<ShopRouter>({ links: links({ ...options, before: [shopLink(carrier)] }) })
  const bare = createTRPCUntypedClient<ShopRouter>({ links: links({ ...options, before: [] }) })
  return {
    requests,
    call: async (path, input, idempotencyKey) =>
      withPrototype(await client.mutation(path, input, { context: { idempotencyKey } })),
    callWithout: (path, input) => bare.mutation(path, input),
    read,
  }
}

/** The library's link, as an application of this router sets it up. */
function shopLink(carrier: Carrier): TRPCLink<ShopRouter> {
  return idempotencyLink<ShopRouter>({
    carrier,
    mutations: {
      'shop.order.create': true,
      'shop.order.confirm': true,
      'shop.stock.reserve': true,
      'shop.pay': true,
    },
  })
}

type Fetch = NonNullable<HTTPLinkOptions<ShopRouter['_def']['_config']['$types']>['fetch']>

function fetchNotedIn(requests: string[]): Fetch {
  return (address, init) => {
    const { pathname } = new URL(String(address))
    requests.push(decodeURIComponent(pathname.slice(pathname.lastIndexOf('/') + 1)))
    return fetch(String(address), init as RequestInit)
  }
}

/**
 * tRPC's streams copy the outermost object of an answer to one that has no prototype, and devalue takes that along: the
 * one difference between transports, and with this library no other than without.
 */
function withPrototype(answer: unknown): unknown {
  const bare = typeof answer === 'object' && answer !== null && Object.getPrototypeOf(answer) === null
  return bare ? { ...answer } : answer
}

/** What an error of the client says: what came in its shape, over the wire. */
function read(error: unknown): Refusal {
  if (!(error instanceof TRPCClientError)) throw error
  const { code, httpStatus, idempotency } = error.data ?? {}
  return { code, httpStatus, message: error.message, ...idempotency }
}
