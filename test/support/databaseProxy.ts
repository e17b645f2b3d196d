import { onTestFinished } from 'vitest'
import { type Flight, type Hook, startDatabaseRelay } from './databaseRelay.js'

export type { Flight, Hook } from './databaseRelay.js'

export interface DatabaseProxy {
  /** The connection string of the database behind it, led through the proxy. */
  url: string
  /** The round trips since the last `forget`, connections' own handshakes left out. */
  flights: Flight[]
  forget(): void
  /** Asked at both ends of each round trip. Passes everything until it is set. */
  hook: Hook
}

/** Stands between a client and Postgres until the test ends. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const relay = await startDatabaseRelay(databaseUrl, {
    hook: (flight, moment) => proxy.hook(flight, moment),
    onFlight: (flight) => proxy.flights.push(flight),
  })
  onTestFinished(relay.close)
  const proxy: DatabaseProxy = {
    url: relay.url,
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
      if (/^insert into \S*"idempotency_keys"/.test(text)) return 'claim'
      if (text.startsWith('select age.age') || text.startsWith('select found.')) return 'read'
      if (text.includes("set status = 'settled'")) return 'settle'
      if (text.startsWith('select pg_backend_pid()')) return 'identity'
      return text
    })
    .join(' + ')
}
