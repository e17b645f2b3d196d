import type { AddressInfo } from 'node:net'
import type { AnyTRPCRouter } from '@trpc/server'
import { applyWSSHandler } from '@trpc/server/adapters/ws'
import { onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import type { Context } from '../../support/shop.js'

/** tRPC's WebSocket server. A browser's socket has no headers: who calls is said by the parameters of its connection. */
export async function webSocketServer(router: AnyTRPCRouter): Promise<string> {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  applyWSSHandler({
    wss,
    router,
    createContext({ info }): Context {
      const user = info.connectionParams?.['user']
      return { user: user === undefined ? null : { id: user } }
    },
  })
  await new Promise((resolve) => wss.once('listening', resolve))
  onTestFinished(async () => {
    for (const socket of wss.clients) socket.terminate()
    await new Promise((resolve) => wss.close(resolve))
  })
  return `ws://127.0.0.1:${(wss.address() as AddressInfo).port}`
}
