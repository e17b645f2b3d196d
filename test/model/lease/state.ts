/** Who sends an attempt with the key. */
export type Sender = 'attempt 1' | 'attempt 2' | 'network duplicate' | 'double click' | 'prober'

/** Where an attempt is. */
export const PLACES = [
  'not sent',
  'reads',
  'claims',
  'inserts',
  'takes over',
  'reads points',
  'calls',
  'records',
  'has looked',
  'asks for the record',
  'begins',
  'writes',
  'commits',
  'committed',
  'rolled back',
  'asks for the point',
  'returns',
  'settles',
  'gives back',
  'abandons',
  'lost',
  'claims in a transaction',
  'claims a released row',
  'runs in a transaction',
  'ended',
  'dead',
] as const
export type Place = (typeof PLACES)[number]

/** How an attempt ended. `UNKNOWN` is an error of the handler that proves nothing. */
export const ANSWERS = [
  'none',
  'RESULT',
  'IN_FLIGHT',
  'KEY_TOO_OLD',
  'ABANDONED',
  'LEASE_LOST',
  'HANDLER_ERROR',
  'STORE_UNAVAILABLE',
  'UNKNOWN',
] as const
export type Answer = (typeof ANSWERS)[number]

/** What a client concludes for the operation. */
export const OUTCOMES = ['none', 'EXECUTED', 'NOT_EXECUTED', 'UNKNOWN'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Stands for no number. */
export const NONE = -1

/** `resolved` is a value that an operator stored. */
export const RESULT_KINDS = ['value', 'error', 'tombstone', 'resolved'] as const

/** What is stored and replayed, and of which effects it speaks: numbers of a charge and of a business row. */
export interface Result {
  readonly kind: (typeof RESULT_KINDS)[number]
  readonly charge: number
  readonly business: number
}

/** One arrival of the key at the server. */
export interface Attempt {
  place: Place
  fence: number
  /** The grant that it was given, which it cannot see. */
  grant: number
  /** Whether the row that it was granted is under manual. */
  manual: boolean
  /** What it knows of the two recovery points: numbers of a charge and of a business row. */
  charge: number
  business: number
  /** What it is about to settle. */
  result: Result | undefined
  answer: Answer
  /** The result that was the answer. */
  names: Result | undefined
}

export const STATUSES = ['in flight', 'released', 'settled'] as const

/** The row of the key, with its recovery points. */
export interface Row {
  status: (typeof STATUSES)[number]
  fence: number
  leaseOver: boolean
  /** Whether its `on_unknown` is manual, and not retry. */
  manual: boolean
  /** What is recorded under the two recovery points, and under which fence. */
  charge: number
  chargeFence: number
  business: number
  businessFence: number
  result: Result | undefined
  /** Each grant of the right to run has a number of its own, whatever the fence says. NONE once an operator acted. */
  grant: number
}

export const STATEMENT_KINDS = [
  'insert',
  'take over',
  'call',
  'record',
  'renew',
  'settle',
  'release',
  'abandon',
] as const

/** A statement on its own, or a call of the provider: it takes effect at once or not at all. */
export interface Statement {
  kind: (typeof STATEMENT_KINDS)[number]
  attempt: number
  fence: number
  grant: number
  charge: number
  /** What it stores; of a release the error for which the key is given back, where that proves something. */
  result: Result | undefined
}

/** A transaction of `recoveryPoint.tx`. One that ended is gone. */
export interface PointTransaction {
  attempt: number
  fence: number
  grant: number
  /** Whether it locks the row of the key. */
  locks: boolean
  /** Whether the business row and the recovery point are written, and COMMIT is sent. */
  sent: boolean
  /** Whether its attempt still waits for the answer. */
  heard: boolean
}

/** What a client holds for true. */
export interface Client {
  attempts: number
  /** Whether an attempt of its own may have been executed. */
  unknown: boolean
  /** Whether it was told, by IN_FLIGHT or ABANDONED, of an attempt that is not its own. */
  told: boolean
  outcome: Outcome
}

export const WATERMARKS = ['below', 'rising', 'above'] as const

/** What a step can do that none may: the names of invariants that no state shows afterwards. */
export const MISDEEDS = [
  'no fence repeats',
  'a live lease is never taken over',
  'an abandoned row under manual is left to the operator',
  'an unproven failure under manual is left to the operator',
  'a lost holder writes nothing',
  'a recorded point is not run again by its holder',
  'a settled result is never overwritten',
  'an answered operation never runs again',
  'a swept key never runs again',
  'a live lease is never swept',
  'an abandoned row under manual is never swept',
] as const
export type Misdeed = (typeof MISDEEDS)[number]

export interface State {
  row: Row | undefined
  /** Whether the watermark is over the key; rising while the transaction that raises it is open. */
  watermark: (typeof WATERMARKS)[number]
  swept: boolean
  /** For each execution at the provider the attempt whose call it was. */
  charges: number[]
  /** Whether the provider refused, which it remembers for the derived key. */
  refused: boolean
  /** For each business row the attempt that wrote it. */
  business: number[]
  transactions: PointTransaction[]
  /** What was sent and not answered: it takes effect later, or never. */
  afloat: Statement[]
  /** How often the right to run was granted, and the highest fence that went with it. */
  grants: number
  highestFence: number
  misdeeds: Misdeed[]
  attempts: Attempt[]
  clients: Client[]
  /** How much of what is limited has happened. */
  crashes: number
  losses: number
  failures: number
  operations: number
}

/** An attempt that was just sent; of one that ended nothing is kept but its answer. */
export const FRESH: Readonly<Attempt> = {
  place: 'reads',
  fence: NONE,
  grant: NONE,
  manual: false,
  charge: NONE,
  business: NONE,
  result: undefined,
  answer: 'none',
  names: undefined,
}

/** Results and statements never change, so copies share them. */
export function copyOf(state: State): State {
  return {
    ...state,
    row: state.row && { ...state.row },
    charges: state.charges.slice(),
    business: state.business.slice(),
    transactions: state.transactions.map((transaction) => ({ ...transaction })),
    afloat: state.afloat.slice(),
    misdeeds: state.misdeeds.slice(),
    attempts: state.attempts.map((attempt) => ({ ...attempt })),
    clients: state.clients.map((client) => ({ ...client })),
  }
}

/** Whether a process carries an attempt out right now. One that only reads has nothing to lose. */
export function isLive({ place }: Attempt): boolean {
  return place !== 'not sent' && place !== 'reads' && place !== 'ended' && place !== 'dead'
}

/** Whether an attempt was granted the right to run in lease mode, and goes by it. */
export function runs({ grant, place }: Attempt): boolean {
  return grant !== NONE && place !== 'lost'
}
