import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** One address in front of a server that changes: what a virtual IP or a pooler is to applications. */
export interface Lead {
  port: number
  /** Ends every connection; new ones are refused until it leads somewhere again. */
  cut(): void
  /** Leads new connections to another port. */
  to(port: number): void
}

/** Passes bytes on, both ways, until the test ends. */
export async function startLead(firstPort: number): Promise<Lead> {
  const sockets = new Set<Socket>()
  let upstream: number | undefined = firstPort
  const server = createServer((client) => {
    if (upstream === undefined) return void client.resetAndDestroy()
    const database = connect(upstream, '127.0.0.1')
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        database.destroy()
      })
    }
    client.pipe(database)
    database.pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    upstream = undefined
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(() => {
    cut()
    server.close()
  })
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    to(port) {
      upstream = port
    },
  }
}
