import { serve as standalone } from '../support/httpServer.js'
import { routerCaller, serverActions } from './callers.js'
import { clientTransport } from './client.js'
import { batch, batchStream, local, ordersApart, ordersApartInside, single, webSocket } from './endings.js'
import { expressServer } from './servers/express.js'
import { fastifyServer } from './servers/fastify.js'
import { fetchServer } from './servers/fetch.js'
import type { Transport } from './transport.js'

const ORDERS = ['shop.order.create', 'shop.order.create', 'shop.order.create', 'shop.order.confirm']
const OTHERS = ['shop.stock.reserve', 'shop.pay']

const HTTP_SERVERS = [
  ['standalone', standalone],
  ['Express', expressServer],
  ['Fastify', fastifyServer],
  ['fetch', fetchServer],
] as const

const EACH = [...ORDERS, ...OTHERS]
const ALL_IN_ONE = [EACH.join()]

const HTTP_LINKS = [
  ['httpLink', single, EACH],
  ['httpBatchLink', batch, ALL_IN_ONE],
  ['httpBatchStreamLink', batchStream, ALL_IN_ONE],
] as const

/** Every way to the mutations of the shop. A new one is a row here. */
export const transports: Transport[] = [
  ...HTTP_LINKS.flatMap(([link, ending, requests]) =>
    HTTP_SERVERS.map(([server, serve]) =>
      clientTransport({ name: `${link} to ${server}`, requests: [...requests], ending: ending(serve) }),
    ),
  ),
  ...HTTP_LINKS.map(([link, ending, requests]) =>
    clientTransport({
      name: `${link} with keys in the header`,
      requests: [...requests],
      ending: ending(standalone),
      carrier: 'header',
    }),
  ),
  clientTransport({ name: 'wsLink', requests: [], ending: webSocket }),
  clientTransport({ name: 'localLink', requests: [], ending: local }),
  clientTransport({
    name: 'splitLink of wsLink and httpBatchLink',
    requests: [OTHERS.join()],
    ending: ordersApart(webSocket, batch(standalone)),
  }),
  clientTransport({
    name: 'splitLink of httpLink and httpBatchLink',
    requests: [...ORDERS, OTHERS.join()],
    ending: ordersApart(single(standalone), batch(standalone)),
  }),
  clientTransport({
    name: 'splitLink of httpBatchStreamLink and httpLink, with idempotencyLink in both',
    requests: [...OTHERS, ORDERS.join()],
    ending: ordersApartInside(batchStream(standalone), single(standalone)),
  }),
  routerCaller,
  serverActions,
]
