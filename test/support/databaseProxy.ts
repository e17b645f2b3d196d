import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Everything that a client sent before it heard that the server is ready again: one round trip. */
export interface Flight {
  /** The text of the statements in it, in order. */
  statements: string[]
}

export interface DatabaseProxy {
  /** The connection string of the database behind it, led through the proxy. */
  url: string
  /** The round trips since the last `forget`, connections' own handshakes left out. */
  flights: Flight[]
  forget(): void
}

/** Stands between a client and Postgres, passes everything on, and understands enough of the protocol to count trips. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const upstream = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const proxy: DatabaseProxy = {
    url: '',
    flights: [],
    forget() {
      proxy.flights.length = 0
    },
  }
  const server = createServer((client) => {
    const database = connectTo(Number(upstream.port), upstream.hostname)
    relay(client, database, proxy)
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
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  proxy.url = url.href
  return proxy
}

/** ReadyForQuery: type, length, and a status that is not looked at. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

function relay(client: Socket, database: Socket, { flights }: DatabaseProxy): void {
  const messages = messageReader()
  let flight: Flight | undefined
  let handshake = true
  client.on('data', (chunk: Buffer) => {
    const statements = messages(chunk)
    if (!handshake) {
      if (flight === undefined) {
        flight = { statements: [] }
        flights.push(flight)
      }
      flight.statements.push(...statements)
    }
    database.write(chunk)
  })
  database.on('data', (chunk: Buffer) => {
    if (chunk.includes(READY)) {
      handshake = false
      flight = undefined
    }
    client.write(chunk)
  })
}

/** Cuts a client's bytes into messages and gives the text of the statements among them. */
function messageReader(): (chunk: Buffer) => string[] {
  let rest = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const statements: string[] = []
    for (;;) {
      // The first message has no type before its length; the request for TLS, which also has none, we do not send.
      const lengthAt = started ? 1 : 0
      if (rest.length < lengthAt + 4) return statements
      const length = rest.readInt32BE(lengthAt) + lengthAt
      if (rest.length < length) return statements
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      if (started) statements.push(...statementsIn(message))
      started = true
    }
  }
}

function statementsIn(message: Buffer): string[] {
  const type = message.toString('latin1', 0, 1)
  if (type === 'Q') return [message.toString('utf8', 5, message.indexOf(0, 5))]
  if (type !== 'P') return []
  const nameEnds = message.indexOf(0, 5)
  return [message.toString('utf8', nameEnds + 1, message.indexOf(0, nameEnds + 1))]
}
