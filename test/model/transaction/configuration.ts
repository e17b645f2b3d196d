import type { Sender } from './state.js'

/** Who sends, and what may happen meanwhile. What is left out does not happen. */
export interface Configuration {
  name: string
  senders: readonly Sender[]
  /** Every delivery in a process of its own: no single flight. Else there are two processes. */
  alone?: boolean
  /** How often a process is killed. */
  crashes?: number
  /** How often the answer to COMMIT is lost. */
  losses?: number
  /** How often Postgres undoes a transaction in favour of another one. */
  conflicts?: number
  /** How often an attempt runs its transaction again. */
  maxReruns?: number
  /** Handlers swallow a failed query, or leave one floating. */
  carelessHandlers?: boolean
  /** Clients draw conclusions, and the second attempt is sent only where the first brought no final answer. */
  clients?: boolean
  /** Clients whom that leaves with UNKNOWN ask `status()`. */
  status?: boolean
  /** How many ticks the clock goes on. */
  ticks?: number
  /** By how many ticks the client's clock is ahead. */
  birth?: number
  /** Up to which age, in ticks, the even and the odd processes claim a key: an old deploy and a new one. */
  retention?: readonly [number, number]
  /** From past which age a sweep raises the watermark over the key: its own retention and the margin. */
  sweptPast?: number
}

export interface Settings extends Required<Configuration> {
  /** For each client its deliveries, in the order in which it sends them. */
  sendersOfClients: readonly (readonly number[])[]
}

export function settingsOf(configuration: Configuration): Settings {
  const { senders, clients = false } = configuration
  const indexes = (...names: Sender[]) => names.map((name) => senders.indexOf(name)).filter((index) => index >= 0)
  return {
    alone: false,
    crashes: 0,
    losses: 0,
    conflicts: 0,
    maxReruns: 1,
    carelessHandlers: false,
    status: false,
    ticks: 0,
    birth: 0,
    retention: [1, 1],
    sweptPast: Number.POSITIVE_INFINITY,
    ...configuration,
    clients,
    sendersOfClients: clients
      ? [indexes('attempt 1', 'attempt 2'), indexes('double click')].filter((sends) => sends.length > 0)
      : [],
  }
}
