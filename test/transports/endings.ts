import {
  createWSClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  unstable_localLink as localLink, // its name in the oldest tRPC too
  splitLink,
  wsLink,
} from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { idempotencyHeaders } from 'trpc-idempotency/client'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Ending, LinkOptions } from './client.js'
import { webSocketServer } from './servers/webSocket.js'
import type { ShopRouter } from './shop.js'
import type { OpenShop } from './transport.js'

/** Serves a router, and gives its address. */
type Serve = (router: AnyTRPCRouter) => Promise<string>

export function single(serve: Serve): Ending {
  return async ({ router }) => {
    const url = await serve(router)
    return (options) => [...options.before, httpLink(http(url, options))]
  }
}

export function batch(serve: Serve): Ending {
  return async ({ router }) => {
    const url = await serve(router)
    return (options) => [...options.before, httpBatchLink(http(url, options))]
  }
}

export function batchStream(serve: Serve): Ending {
  return async ({ router }) => {
    const url = await serve(router)
    return (options) => [...options.before, httpBatchStreamLink(http(url, options))]
  }
}

export const webSocket: Ending = async ({ router }) => {
  const url = await webSocketServer(router)
  return ({ user, before, transformer }) => {
    const client = createWSClient({
      url,
      connectionParams: { user },
      // The class of `ws` has more than the browser's, and other event types. Node.js has one of its own from 22 on.
      WebSocket: WebSocket as never,
    })
    onTestFinished(() => client.close())
    return [...before, wsLink({ client, ...transformer })]
  }
}

export const local: Ending =
  async ({ router }) =>
  ({ user, before, transformer }) => [
    ...before,
    localLink({ router, createContext: async () => ({ user: { id: user } }), ...transformer }),
  ]

/** The mutations of orders go one way, all others another. */
export function ordersApart(orders: Ending, others: Ending): Ending {
  return async (shop) => {
    const split = await splitByPath(orders, others, shop)
    return (options) => [...options.before, split({ ...options, before: [] })]
  }
}

/** The same with the library's link in each branch, and not before the split. */
export function ordersApartInside(orders: Ending, others: Ending): Ending {
  return async (shop) => {
    const split = await splitByPath(orders, others, shop)
    return (options) => [split(options)]
  }
}

async function splitByPath(orders: Ending, others: Ending, shop: OpenShop) {
  const [ordersLinks, othersLinks] = [await orders(shop), await others(shop)]
  const condition = ({ path }: { path: string }) => path.startsWith('shop.order.')
  return (options: LinkOptions) =>
    splitLink<ShopRouter>({ condition, true: ordersLinks(options), false: othersLinks(options) })
}

function http(url: string, { user, transformer, fetch }: LinkOptions) {
  return { url, fetch, headers: idempotencyHeaders({ 'x-user': user }), ...transformer }
}
