import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** Everything that a client sent before it heard that the server is ready again: one round trip. */
export interface Flight {
  /** The text of the statements in it, in order. */
  statements: string[]
}

/**
 * What happens to a round trip: it is passed on, or the connection ends. `before`: the database has not seen it;
 * `after`: the database has done it, and its answer has not left.
 */
export type Hook = (flight: Flight, moment: 'before' | 'after') => 'pass' | 'cut' | Promise<'pass' | 'cut'>

export interface DatabaseProxy {
  /** The connection string of the database behind it, led through the proxy. */
  url: string
  /** The round trips since the last `forget`, connections' own handshakes left out. */
  flights: Flight[]
  forget(): void
  /** Asked at both ends of each round trip. Passes everything until it is set. */
  hook: Hook
}

/** Stands between a client and Postgres, passes everything on, and understands enough of the protocol to name trips. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const upstream = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const url = new URL(databaseUrl)
  const server = createServer((client) => {
    const database = connectTo(Number(upstream.port), upstream.hostname)
    const end = () => {
      client.destroy()
      database.destroy()
    }
    for (const socket of [client, database]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        end()
      })
    }
    relay({ client, database, end, proxy })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  url.port = String((server.address() as AddressInfo).port)
  const proxy: DatabaseProxy = {
    url: url.href,
    flights: [],
    forget() {
      proxy.flights.length = 0
    },
    hook: () => 'pass',
  }
  return proxy
}

/** What a flight is for, by the first words of its statements: our own by their names, others as they are. */
export function nameOf({ statements }: Flight): string {
  return statements
    .map((statement) => {
      const text = statement.trim().replace(/\s+/g, ' ')
      if (text.startsWith('with age')) return 'claim'
      if (text.startsWith('select age.age')) return 'read'
      if (text.includes("set status = 'settled'")) return 'settle'
      if (text.startsWith('select pg_backend_pid()')) return 'identity'
      return text
    })
    .join(' + ')
}

/** ReadyForQuery: type, length, and a status that is not looked at. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

interface Relay {
  client: Socket
  database: Socket
  end(): void
  proxy: DatabaseProxy
}

function relay({ client, database, end, proxy }: Relay): void {
  const readMessages = messageReader()
  let flight: Flight | undefined
  let handshake = true
  // One after the other: a hook may take its time, and bytes must not overtake each other.
  let toDatabase = Promise.resolve()
  let toClient = Promise.resolve()

  client.on('data', (chunk: Buffer) => {
    toDatabase = toDatabase.then(async () => {
      const statements = readMessages(chunk)
      if (!handshake) {
        if (flight === undefined) {
          flight = { statements: [] }
          proxy.flights.push(flight)
        }
        flight.statements.push(...statements)
        if (statements.length > 0 && (await proxy.hook(flight, 'before')) === 'cut') return end()
      }
      database.write(chunk)
    })
  })
  database.on('data', (chunk: Buffer) => {
    toClient = toClient.then(async () => {
      if (chunk.includes(READY)) {
        handshake = false
        const landed = flight
        flight = undefined
        if (landed !== undefined && (await proxy.hook(landed, 'after')) === 'cut') return end()
      }
      client.write(chunk)
    })
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
