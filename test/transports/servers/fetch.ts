import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { AnyTRPCRouter } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { listen } from '../../support/httpServer.js'

/** tRPC's fetch adapter, which is a route handler of Next.js too, behind a server that speaks Request and Response. */
export async function fetchServer(router: AnyTRPCRouter): Promise<string> {
  const server = createServer(async (incoming, outgoing) => {
    const req = requestOf(incoming)
    const user = req.headers.get('x-user')
    const createContext = () => ({ user: user === null ? null : { id: user }, headers: req.headers })
    await send(await fetchRequestHandler({ endpoint: '/trpc', req, router, createContext }), outgoing)
  })
  return `${await listen(server)}/trpc`
}

function requestOf(incoming: IncomingMessage): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value))
  const body = Readable.toWeb(incoming) as BodyInit
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1')
  return new Request(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
}

async function send({ status, headers, body }: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(status, Object.fromEntries(headers))
  if (body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(body as ReadableStream), outgoing)
}
