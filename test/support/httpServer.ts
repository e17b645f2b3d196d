import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AnyTRPCRouter } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { onTestFinished } from 'vitest'
import type { Context } from './shop.js'

/** Serves a router over real HTTP until the test ends; gives its URL. */
export async function serve(router: AnyTRPCRouter): Promise<string> {
  const server = createHTTPServer({ router, createContext: ({ req }: { req: IncomingMessage }) => contextOf(req) })
  return listen(server)
}

/** Listens on a free port until the test ends; gives the URL. */
export async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export function contextOf(req: IncomingMessage): Context {
  const user = req.headers['x-user']
  return { user: typeof user === 'string' ? { id: user } : null }
}
