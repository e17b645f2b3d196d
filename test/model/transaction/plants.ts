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

/** For each clause of the protocol the plant that breaks it, and no other. */
export const PLANTS = {
  // Claim, handler, settle, COMMIT.
  'only an insert grants the right to run': {
    name: 'a look-up in the place of the claim',
    invariant: 'one committed effect a key',
    configuration: { senders: PAIR, alone: true },
  },
  'the transaction of a failed handler is rolled back': {
    name: 'a failed handler whose transaction commits',
    invariant: 'no NOT_EXECUTED beside the effect of the attempt',
    configuration: { senders: ['attempt 1'] },
  },
  'what the handler left floating is awaited before the settle': {
    name: 'a floating query that nobody awaits',
    invariant: 'every answer names an existing effect',
    configuration: { senders: ['attempt 1'], carelessHandlers: true },
  },
  'a settle that fails makes the attempt fail': {
    name: 'a handler that swallows an error, and no canary',
    invariant: 'every answer names an existing effect',
    configuration: { senders: ['attempt 1'], carelessHandlers: true },
  },
  'an answer waits for the acknowledgement of COMMIT': {
    name: 'an answer before COMMIT is acknowledged',
    invariant: 'every answer names an existing effect',
    configuration: { senders: ['attempt 1'] },
  },
  'a rerun begins with everything undone': {
    name: 'a rerun that keeps the effect of the run before',
    invariant: 'one committed effect a key',
    configuration: { senders: ['attempt 1'], conflicts: 1 },
  },

  // After a COMMIT without an answer.
  'a COMMIT without an answer is answered from the row': {
    name: 'an attempt that takes the row for its own after a lost COMMIT',
    invariant: 'equal answers',
    configuration: { senders: PAIR, losses: 1, alone: true },
  },
  'a COMMIT without an answer leaves the outcome unknown': {
    name: 'a refusal that forgets the lost COMMIT before it',
    invariant: 'no NOT_EXECUTED beside the effect of the attempt',
    configuration: { senders: ['attempt 1'], losses: 1 },
  },

  // Duplicates and dead holders.
  'a follower waits for the acknowledgement of its leader': {
    name: 'a follower that is answered from the memory of its leader',
    invariant: 'every answer names an existing effect',
    configuration: { senders: PAIR },
  },
  'the database ends a transaction that went silent': {
    name: 'a database that keeps the transaction of a dead holder',
    invariant: PROGRESS,
    configuration: { senders: ['attempt 1', 'prober'], crashes: 1 },
  },

  // What is forgotten.
  'the settle reads the watermark again': {
    // A claim that waits for two others, one after the other, waits for longer than the margin.
    name: 'a settle that does not read the watermark again',
    invariant: 'a swept key never runs again',
    configuration: {
      senders: ['attempt 1', 'network duplicate', 'double click'],
      alone: true,
      maxReruns: 0,
      birth: -1,
      ticks: 2,
      sweptPast: 0,
    },
  },
  'a raise commits before its delete': {
    name: 'a sweep that deletes before its raise is committed',
    invariant: 'a swept key never runs again',
    configuration: { senders: PAIR, alone: true, ticks: 1, sweptPast: 0 },
  },
  'the sweep goes by birth': {
    name: 'a sweep that goes by claimed_at, and a client whose clock is ahead',
    invariant: 'a swept key never runs again',
    configuration: { senders: PAIR, alone: true, birth: 1, ticks: 2, sweptPast: 1 },
  },

  // What clients conclude.
  'IN_FLIGHT leaves the outcome of the operation unknown': {
    name: 'a client that takes IN_FLIGHT for NOT_EXECUTED of the operation',
    invariant: 'no NOT_EXECUTED of a client beside the effect of the operation',
    configuration: { senders: PAIR, clients: true },
  },
  'an absent status leaves the outcome unknown': {
    name: 'a client that takes an absent status for NOT_EXECUTED',
    invariant: 'no NOT_EXECUTED of a client beside the effect of the operation',
    configuration: { senders: ['attempt 1'], clients: true, status: true },
  },
  'an earlier attempt counts for the outcome': {
    name: 'a client that goes by its last attempt alone',
    invariant: 'no NOT_EXECUTED of a client beside the effect of the operation',
    configuration: { senders: ['attempt 1', 'attempt 2'], clients: true },
  },
} as const satisfies Record<string, Plant>

export type Clause = keyof typeof PLANTS
