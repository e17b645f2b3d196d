/** Who sends a delivery with the key. */
export type Sender = 'attempt 1' | 'attempt 2' | 'network duplicate' | 'double click' | 'prober'

/** Where a delivery is. */
export const PLACES = [
  'not sent',
  'on its way',
  'follows',
  'reads',
  'claims',
  'inserts',
  'waits',
  'lost',
  'runs',
  'returned',
  'settled',
  'commits',
  'ended',
  'dead',
] as const
export type Place = (typeof PLACES)[number]

/** How a delivery ended. The last is an error that proves nothing; those between say NOT_EXECUTED of their attempt. */
export const ANSWERS = [
  'none',
  'ANSWERED',
  'IN_FLIGHT',
  'KEY_TOO_OLD',
  'HANDLER_ERROR',
  'STORE_UNAVAILABLE',
  'UNKNOWN',
] as const
export type Answer = (typeof ANSWERS)[number]

/** What a client concludes for the operation. */
export const OUTCOMES = ['none', 'EXECUTED', 'NOT_EXECUTED', 'UNKNOWN'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Stands for no delivery, no process, no execution and no time. */
export const NONE = -1

/** One arrival of the key at the server. */
export interface Delivery {
  place: Place
  process: number
  /** The delivery that it follows in its process. */
  leader: number
  /** The execution that it carries out. */
  execution: number
  /** Transactions that it ran. */
  runs: number
  /** Whether the handler left a query floating. */
  floating: boolean
  /** Whether a COMMIT of it was not answered. */
  doubt: boolean
  /** The execution whose COMMIT was not answered; kept only where a plant looks at it. */
  remembered: number
  /** The execution whose transaction it waits for, and since which tick. */
  waitsFor: number
  waitsSince: number
  answer: Answer
  /** The execution whose result was the answer. */
  names: number
}

export const TRANSACTION_STATES = ['open', 'commit sent', 'committed', 'rolled back'] as const
export type TransactionState = (typeof TRANSACTION_STATES)[number]

/** A transaction that holds the key: until it commits, its row is seen by nobody else. */
export interface Transaction {
  /** One run of the handler; it stands for its effect and its result too. */
  execution: number
  delivery: number
  state: TransactionState
  /** Whether a statement of it failed, so that COMMIT will roll it back and report no error. */
  failed: boolean
}

/** What a client holds for true. */
export interface Client {
  attempts: number
  /** Whether an attempt of its own may have been executed. */
  unknown: boolean
  /** Whether it was told, by IN_FLIGHT, of an attempt that is not its own. */
  told: boolean
  outcome: Outcome
}

export const WATERMARKS = ['below', 'rising', 'above'] as const

export interface State {
  /** The database's clock. One tick is one margin, and longer than any wait for one lock. */
  tick: number
  /** The execution whose result is in the committed row; NONE where there is no row. */
  row: number
  /** When the row was made; kept only where a plant looks at it. */
  rowSince: number
  /** Whether the watermark is over the key; rising while the transaction that raises it is open. */
  watermark: (typeof WATERMARKS)[number]
  swept: boolean
  /** Executions whose effect is in the database. */
  effects: number[]
  transactions: Transaction[]
  deliveries: Delivery[]
  clients: Client[]
  /** How much of what is limited has happened. */
  crashes: number
  losses: number
  conflicts: number
}

/** A delivery that was just sent; of one that ended nothing is kept but its answer. */
export const FRESH: Readonly<Delivery> = {
  place: 'on its way',
  process: NONE,
  leader: NONE,
  execution: NONE,
  runs: 0,
  floating: false,
  doubt: false,
  remembered: NONE,
  waitsFor: NONE,
  waitsSince: NONE,
  answer: 'none',
  names: NONE,
}

export function copyOf(state: State): State {
  return {
    ...state,
    effects: state.effects.slice(),
    transactions: state.transactions.map((transaction) => ({ ...transaction })),
    deliveries: state.deliveries.map((delivery) => ({ ...delivery })),
    clients: state.clients.map((client) => ({ ...client })),
  }
}

/** Whether a process carries a delivery out right now. */
export function isLive({ place }: Delivery): boolean {
  return place !== 'not sent' && place !== 'on its way' && place !== 'ended' && place !== 'dead'
}
