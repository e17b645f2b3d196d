import { at } from '../at.js'
import { saysExecuted, saysNotExecuted } from './answers.js'
import type { Settings } from './configuration.js'
import { numberOf } from './keyOf.js'
import { type Client, MISDEEDS, type Misdeed, NONE, type Result, runs, type State } from './state.js'

type Holds = (state: State, settings: Settings) => boolean

/** What must hold in every state, by the names under which the tests know them. */
const OF_STATES = {
  'one charge an operation': ({ charges }) => charges.length < 2,
  'one business row': ({ business }) => business.length < 2,
  'a fence has one live owner': ({ attempts }) => {
    const fences = attempts.filter(runs).map(({ fence }) => fence)
    return new Set(fences).size === fences.length
  },
  'equal answers': ({ attempts }) => {
    const named = attempts.map(({ names }) => numberOf(names)).filter((number) => number > 0)
    return new Set(named).size < 2
  },
  'every EXECUTED answer names an existing effect': (state) =>
    state.attempts.every(({ names }) => names === undefined || !saysExecuted(names) || exists(state, names)) &&
    (state.charges.length + state.business.length > 0 || state.clients.every(({ outcome }) => outcome !== 'EXECUTED')),
  // Not of the prober, which stands for many attempts.
  'no NOT_EXECUTED beside the effect of the attempt': ({ attempts, charges, business }, { senders }) =>
    attempts.every(
      (attempt, index) =>
        !saysNotExecuted(attempt) || senders[index] === 'prober' || ![...charges, ...business].includes(index),
    ),
  'no NOT_EXECUTED of a client beside the effect of the operation': (state, settings) =>
    state.clients.every(
      (client, index) =>
        client.outcome !== 'NOT_EXECUTED' ||
        [...state.charges, ...state.business].every(
          (attempt) => !isAnswerableFor({ client, index }, attempt, settings),
        ),
    ),
} as const satisfies Record<string, Holds>

export const INVARIANTS: Readonly<Record<Exclude<Invariant, typeof PROGRESS>, Holds>> = {
  ...OF_STATES,
  ...(Object.fromEntries(
    MISDEEDS.map((misdeed): [Misdeed, Holds] => [misdeed, ({ misdeeds }) => !misdeeds.includes(misdeed)]),
  ) as Record<Misdeed, Holds>),
}

export const PROGRESS = 'an attempt that never gives up ends'

export type Invariant = keyof typeof OF_STATES | Misdeed | typeof PROGRESS

/** Whether the attempts have to wait for a person, and none comes. */
export function isLeftToOperator({ row, operations }: State, settings: Settings): boolean {
  return row?.status === 'in flight' && row.leaseOver && row.manual && operations >= settings.operations
}

function exists({ charges, business }: State, names: Result): boolean {
  if (names.charge === NONE && names.business === NONE) return false
  return names.charge < charges.length && names.business < business.length
}

/**
 * A client speaks of what it sent. What others sent with the same key it knows of only if it was told, by IN_FLIGHT or ABANDONED.
 * A duplicate that the network made is nobody's: it may still execute after the attempt was refused.
 */
function isAnswerableFor(
  { client, index }: { client: Client; index: number },
  attempt: number,
  { senders, sendersOfClients }: Settings,
): boolean {
  if (senders[attempt] === 'network duplicate') return false
  return client.told || at(sendersOfClients, index).includes(attempt)
}
