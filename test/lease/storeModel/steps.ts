import type { OnUnknown, Outcome, StoredResult } from '../../../server/engine/record.js'
import type { Holder, OperationName } from './world.js'

interface OfOperation {
  operation: OperationName
}

/** What claims an operation asks for. */
interface Claiming extends OfOperation {
  holder: Holder
  payload: Payload
  onUnknown: OnUnknown
}

/** What a holder writes goes under the fence that it was given last, whoever holds the operation by now. */
export interface Holding extends OfOperation {
  holder: Holder
  fence: number
}

/** Two inputs of one procedure: their fingerprints differ. */
export type Payload = 1 | 2

export type Step =
  | ({ kind: 'claim'; attempt: number; retentionHours: number } & Claiming)
  | ({ kind: 'takeOver' } & Claiming)
  | ({ kind: 'renew' | 'release' | 'abandon' } & Holding)
  | ({ kind: 'settle'; outcome: Outcome } & Holding)
  | ({ kind: 'record'; name: string; result: StoredResult } & Holding)
  /** `label` names the row that the body writes; `fails` says that the body throws after that. */
  | ({ kind: 'recordWith'; name: string; result: StoredResult; label: string; fails: boolean } & Holding)
  | ({ kind: 'operatorResolves'; result: StoredResult } & OfOperation)
  | ({ kind: 'operatorReleases' } & OfOperation)
  | ({ kind: 'leaseEnds' } & OfOperation)
  | { kind: 'marginPasses' }
  | { kind: 'raise'; retentionHours: number }
  | { kind: 'sweep' }
