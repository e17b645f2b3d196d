import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Relay {
  /** The address, led through the relay. */
  url: string
  /** How often a side that had been answered sent again, over all connections: the round trips. */
  trips(): number
  close(): void
}

/**
 * Stands between a server and what it asks, and passes everything on, without knowing the protocol.
 *
 * @param delayMs how much later it passes on what is asked: the whole of a round trip's delay lies on the way there
 */
export async function startRelay(url: string, delayMs = 0): Promise<Relay> {
  const upstream = new URL(url)
  const sockets = new Set<Socket>()
  let trips = 0
  const server = createServer((asking) => {
    const answering = connect(Number(upstream.port), upstream.hostname)
    let answered = true
    for (const [socket, other] of [
      [asking, answering],
      [answering, asking],
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    asking.on('data', (chunk) => {
      if (answered) trips += 1
      answered = false
      if (delayMs === 0) answering.write(chunk)
      else setTimeout(() => answering.write(chunk), delayMs)
    })
    answering.on('data', (chunk) => {
      answered = true
      asking.write(chunk)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const led = new URL(url)
  led.port = String((server.address() as AddressInfo).port)
  return {
    url: led.href,
    trips: () => trips,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
