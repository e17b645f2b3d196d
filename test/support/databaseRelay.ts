import { once } from 'node:events'
import { type AddressInfo, connect as connectTo, createServer, type Socket } from 'node:net'
import { statementReader } from './statementReader.js'

/** Everything that a client sent before it heard that the server is ready again: one round trip. */
export interface Flight {
  /** The text of the statements in it, in order. */
  statements: string[]
}

/**
 * What happens to a round trip: it is passed on, or the connection ends. `before`: the database has not seen it;
 * `after`: the database has done it, and its answer has not left, or at `truncate` half of it has.
 */
export type Hook = (flight: Flight, moment: 'before' | 'after') => Verdict | Promise<Verdict>

/** A cut closes the connection, as a server does that stops; a reset breaks it, as a network does. */
export type Verdict = 'pass' | 'cut' | 'reset' | 'truncate'

export interface RelaySettings {
  /** Asked at both ends of each round trip, connections' own handshakes left out. */
  hook: Hook
  /** Told of each round trip when it begins. */
  onFlight?(flight: Flight): void
}

export interface DatabaseRelay {
  /** The connection string of the database behind it, led through the relay. */
  url: string
  close(): void
}

/** Stands between clients and Postgres, passes everything on, and understands enough of the protocol to name trips. */
export async function startDatabaseRelay(databaseUrl: string, settings: RelaySettings): Promise<DatabaseRelay> {
  const upstream = new URL(databaseUrl)
  const sockets = new Set<Socket>()
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
    relay({ client, database, end, settings })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** ReadyForQuery: type, length, and a status that is not looked at. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5])

interface Relay {
  client: Socket
  database: Socket
  end(): void
  settings: RelaySettings
}

function relay({ client, database, end, settings: { hook, onFlight } }: Relay): void {
  const readStatements = statementReader()
  let flight: Flight | undefined
  let handshake = true
  // One after the other: a hook may take its time, and bytes must not overtake each other.
  let toDatabase = Promise.resolve()
  let toClient = Promise.resolve()

  const endAs = (verdict: Verdict): void => {
    if (verdict === 'reset') client.resetAndDestroy()
    end()
  }

  client.on('data', (chunk: Buffer) => {
    toDatabase = toDatabase.then(async () => {
      const statements = readStatements(chunk)
      if (!handshake) {
        if (flight === undefined) {
          flight = { statements: [] }
          onFlight?.(flight)
        }
        flight.statements.push(...statements)
        const verdict = statements.length === 0 ? 'pass' : await hook(flight, 'before')
        if (verdict !== 'pass') return endAs(verdict)
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
        const verdict = landed === undefined ? 'pass' : await hook(landed, 'after')
        if (verdict === 'truncate') return void client.write(chunk.subarray(0, chunk.length / 2), end)
        if (verdict !== 'pass') return endAs(verdict)
      }
      client.write(chunk)
    })
  })
}
