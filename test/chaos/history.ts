/** What is wanted once. Its number stands in everything that it writes, as an amount in cents. */
export interface Intent {
  number: number
  customer: string
  procedure: 'order.createOnce' | 'checkout'
  /** Whether its key was born so long ago that it is swept during the run. */
  aged: boolean
}

/** How one try ended, seen from either side. */
export type End =
  /** JSON text of what the procedure returned. */
  | { kind: 'answer'; text: string }
  /** An error that the server made, or took for one that it made. */
  | { kind: 'error'; code: string; reason: string | undefined; attemptOutcome: Outcome }
  /** The connection ended without an answer, or with something that is none. */
  | { kind: 'nothing' }

export type Outcome = 'EXECUTED' | 'NOT_EXECUTED' | 'UNKNOWN'

interface Try {
  intent: number
  key: string
  /** The scope of the key. */
  customer: string
  /** Which call of the link it belongs to. */
  call: string
  attempt: number
  startMs: number
  /** `Infinity` as long as it has not ended. */
  endMs: number
  end: End
}

/** One try, as its client saw it. */
export interface Attempt extends Try {
  kind: 'attempt'
}

/** One time that a request reached a server: what the server was given and what it said, whether or not anybody heard. */
export interface Delivery extends Try {
  kind: 'delivery'
  /** The request that the client sent, or one that the network made of it. */
  copy: boolean
  server: string
}

/** How a call of the link ended. */
export interface Call {
  kind: 'call'
  intent: number
  key: string
  call: string
  endMs: number
  /** What the link says of the whole operation; `EXECUTED` where it was answered. */
  outcome: Outcome
  reason: string | undefined
}

/** What went wrong and does not belong to one key. */
export interface Disaster {
  kind: 'disaster'
  startMs: number
  endMs: number
  text: string
}

/** Everything that the checker is told of a run, apart from what is in the database. */
export interface History {
  intents: Intent[]
  attempts: Attempt[]
  deliveries: Delivery[]
  calls: Call[]
  disasters: Disaster[]
  /** Numbers of the intents of which nobody could be told what became of them, even after everything worked again. */
  unresolved: number[]
}

export function emptyHistory(): History {
  return { intents: [], attempts: [], deliveries: [], calls: [], disasters: [], unresolved: [] }
}
