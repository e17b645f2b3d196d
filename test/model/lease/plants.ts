import type { Configuration } from './configuration.js'
import { type Invariant, PROGRESS } from './invariants.js'

/** A fault that was put into the protocol on purpose, so that the model can show that it would find it. */
export interface Plant {
  name: string
  /** What must be found violated. */
  invariant: Invariant
  /** Where. */
  configuration: Omit<Configuration, 'name'>
}

const PAIR = ['attempt 1', 'double click'] as const
const THREE = ['attempt 1', 'double click', 'network duplicate'] as const

/** For each clause of the protocol the plant that breaks it, and no other. */
export const PLANTS = {
  // The claim and the takeover.
  'a claim without an answer does not run': {
    name: 'a caller that runs on a claim whose answer was lost',
    invariant: 'a fence has one live owner',
    configuration: { senders: PAIR, losses: 1 },
  },
  'the claim locks the watermark': {
    name: 'a claim whose look at the watermark is older than its insert',
    invariant: 'a swept key never runs again',
    configuration: { senders: PAIR, sweep: true },
  },
  'a takeover raises the fence': {
    name: 'a takeover that keeps the fence',
    invariant: 'a fence has one live owner',
    configuration: { senders: PAIR },
  },
  'a takeover never inserts': {
    name: 'a takeover that upserts',
    invariant: 'a swept key never runs again',
    configuration: { senders: PAIR, sweep: true },
  },
  'a takeover looks at the lease': {
    name: 'a takeover that goes by what was read before, and a late renewal',
    invariant: 'a live lease is never taken over',
    configuration: { senders: PAIR },
  },
  "a lease is judged by the database's clock": {
    name: 'a takeover that is judged by the clock of the application',
    invariant: 'a live lease is never taken over',
    configuration: { senders: PAIR },
  },
  'the policy of the row governs its takeover': {
    name: 'a takeover that goes by the policy of the caller',
    invariant: 'an abandoned row under manual is left to the operator',
    configuration: { senders: PAIR, manual: ['attempt 1'] },
  },
  'an abandoned row can be taken over': {
    name: 'an abandoned row that nobody takes over',
    invariant: PROGRESS,
    configuration: { senders: ['attempt 1', 'prober'], crashes: 1 },
  },
  'the recovery points are read after the takeover': {
    name: 'recovery points that are read before the takeover',
    invariant: 'a recorded point is not run again by its holder',
    configuration: { senders: PAIR },
  },

  // What a holder does, and one that lost its lease.
  'the derived key is the same in every attempt': {
    name: 'a derived key that depends on the attempt',
    invariant: 'one charge an operation',
    configuration: { senders: PAIR },
  },
  'a record locks the row of the key': {
    name: 'a record that only looked before whether it holds the key',
    invariant: 'a lost holder writes nothing',
    configuration: { senders: PAIR },
  },
  'a record without an answer is sent again': {
    name: 'a record without an answer whose point is run again',
    invariant: 'a recorded point is not run again by its holder',
    configuration: { senders: ['attempt 1'], losses: 1 },
  },
  'recoveryPoint.tx locks the row of the key': {
    name: 'a recoveryPoint.tx that only looks whether it holds the key',
    invariant: 'a lost holder writes nothing',
    configuration: { senders: PAIR },
  },
  'the business row and its recovery point commit together': {
    name: 'a recovery point that is recorded after the commit of its business row',
    invariant: 'one business row',
    configuration: { senders: PAIR },
  },
  'a COMMIT without an answer is run again': {
    name: 'a COMMIT without an answer that is taken for a success',
    invariant: 'every EXECUTED answer names an existing effect',
    configuration: { senders: ['attempt 1'], losses: 1 },
  },
  'a renewal names the fence': {
    name: 'a renewal that does not name the fence',
    invariant: 'a lost holder writes nothing',
    configuration: { senders: PAIR },
  },

  // How an attempt ends.
  'a settle names the fence': {
    // Past an operator's release, for which the row that is taken over again looks like the one before.
    name: 'a settle that does not name the fence, after a release by an operator',
    invariant: 'a lost holder writes nothing',
    configuration: { senders: PAIR, manual: PAIR, operations: 1 },
  },
  'a settle proves that the row is in flight, and whose': {
    name: 'a settle that finds the row by its key alone',
    invariant: 'a settled result is never overwritten',
    configuration: { senders: PAIR },
  },
  'a settle without an answer is sent again': {
    name: 'a lost settle that is answered with NOT_EXECUTED',
    invariant: 'no NOT_EXECUTED beside the effect of the attempt',
    configuration: { senders: ['attempt 1'], losses: 1 },
  },
  'a settle that changed nothing is answered from the row': {
    name: 'a holder that takes the result of its successor for its own',
    invariant: 'equal answers',
    configuration: { senders: PAIR, unstorableResults: true },
  },
  'an answer waits for its settle': {
    name: 'an answer before the settle',
    invariant: 'an answered operation never runs again',
    configuration: { senders: PAIR },
  },
  'a result that cannot be stored is settled': {
    name: 'a tombstone that is released',
    invariant: 'an answered operation never runs again',
    configuration: { senders: PAIR, unstorableResults: true },
  },
  'a final error is settled': {
    name: 'a final error that is not stored, and run again',
    invariant: 'equal answers',
    configuration: { senders: PAIR, failures: 1, finalErrors: true },
  },
  'an error after an effect leaves the outcome unknown': {
    name: 'a definite error that forgets the charge before it',
    invariant: 'no NOT_EXECUTED beside the effect of the attempt',
    configuration: { senders: ['attempt 1'], failures: 1 },
  },
  'the policy of the row governs an unproven failure': {
    name: 'an unproven failure that goes by the policy of its own deploy',
    invariant: 'an unproven failure under manual is left to the operator',
    configuration: { senders: PAIR, manual: ['attempt 1'], failures: 2 },
  },
  'a release keeps the row': {
    name: 'a release that deletes the row, so that fences begin anew',
    invariant: 'a lost holder writes nothing',
    configuration: { senders: THREE, failures: 1 },
  },
  'a release keeps the recovery points': {
    name: 'a release that forgets the recovery points',
    invariant: 'one business row',
    configuration: { senders: PAIR, failures: 1 },
  },

  // The sweep.
  'the sweep spares a live lease': {
    name: 'a sweep that deletes a live lease',
    invariant: 'a live lease is never swept',
    configuration: { senders: ['attempt 1'], sweep: true },
  },
  'the sweep spares an abandoned row under manual': {
    name: 'a sweep that deletes what an operator has to decide',
    invariant: 'an abandoned row under manual is never swept',
    configuration: { senders: ['attempt 1'], manual: ['attempt 1'], sweep: true },
  },

  // A deploy in transaction mode.
  'transaction mode takes no lease over': {
    name: 'a transaction that takes an abandoned lease over',
    invariant: 'one business row',
    configuration: { senders: PAIR, inTransactionMode: ['double click'] },
  },
  'transaction mode leaves recovery points alone': {
    name: 'a transaction that claims a released row with recovery points',
    invariant: 'one business row',
    configuration: { senders: PAIR, inTransactionMode: ['double click'], failures: 1 },
  },

  // What clients conclude.
  'LEASE_LOST leaves the outcome unknown': {
    name: 'a client that takes LEASE_LOST for NOT_EXECUTED',
    invariant: 'no NOT_EXECUTED of a client beside the effect of the operation',
    configuration: { senders: PAIR, clients: true },
  },
  'ABANDONED leaves the outcome of the operation unknown': {
    name: 'a client that takes ABANDONED for NOT_EXECUTED',
    invariant: 'no NOT_EXECUTED of a client beside the effect of the operation',
    configuration: { senders: ['attempt 1', 'double click'], manual: PAIR, clients: true },
  },
} as const satisfies Record<string, Plant>

export type Clause = keyof typeof PLANTS
