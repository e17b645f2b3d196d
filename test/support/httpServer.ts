import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AnyTRPCRouter } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { onTestFinished } from 'vitest'
import { contextOf } from './httpServerContext.js'

/** Serves a router over real HTTP until the test ends; gives its URL. */
export async function serve(router: AnyTRPCRouter): Promise<string> {
  return listen(createHTTPServer({ router, createContext: ({ req }) => contextOf(req) }))
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
