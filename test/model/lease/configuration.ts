import type { Sender } from './state.js'

/** Who sends, and what may happen meanwhile. What is left out does not happen. */
export interface Configuration {
  name: string
  senders: readonly Sender[]
  /** Whose deploy has the procedure in transaction mode. */
  inTransactionMode?: readonly Sender[]
  /** Whose deploy says `onUnknown: 'manual'`. The others retry. */
  manual?: readonly Sender[]
  /** How often a process is killed. */
  crashes?: number
  /** How often the answer to a statement, a COMMIT or a call of the provider is lost. */
  losses?: number
  /** Answers to renewals are lost too, and the renewals come late. */
  lateRenewals?: boolean
  /** How often a handler fails. */
  failures?: number
  /** `storeError` keeps the definite errors. */
  finalErrors?: boolean
  /** Results that cannot be stored. */
  unstorableResults?: boolean
  /** The provider executes every call, and knows no derived keys. */
  forgetfulProvider?: boolean
  /** How often an operator resolves or releases. */
  operations?: number
  /** A sweep, whose retention is shorter than that of the claims: what they go by is the watermark. */
  sweep?: boolean
  /** Clients draw conclusions, and the second attempt is sent only where the first brought no final answer. */
  clients?: boolean
}

export interface Settings extends Required<Configuration> {
  /** For each client its attempts, in the order in which it sends them. */
  sendersOfClients: readonly (readonly number[])[]
}

export function settingsOf(configuration: Configuration): Settings {
  const { senders, clients = false } = configuration
  const indexes = (...names: Sender[]) => names.map((name) => senders.indexOf(name)).filter((index) => index >= 0)
  return {
    inTransactionMode: [],
    manual: [],
    crashes: 0,
    losses: 0,
    lateRenewals: false,
    failures: 0,
    finalErrors: false,
    unstorableResults: false,
    forgetfulProvider: false,
    operations: 0,
    sweep: false,
    ...configuration,
    clients,
    sendersOfClients: clients
      ? [indexes('attempt 1', 'attempt 2'), indexes('double click')].filter((sends) => sends.length > 0)
      : [],
  }
}
