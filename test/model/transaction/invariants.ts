import { at } from '../at.js'
import { saysNotExecuted } from './answers.js'
import type { Settings } from './configuration.js'
import { type Client, NONE, type State } from './state.js'
import { deliveryOf } from './transactions.js'

/** What must hold in every state, by the names under which the tests know them. */
export const INVARIANTS = {
  'one committed effect a key': ({ effects, swept }) => effects.length < 2 || swept,
  'a swept key never runs again': ({ effects, swept }) => effects.length < 2 || !swept,
  'every answer names an existing effect': ({ deliveries, clients, effects }) =>
    deliveries.every(({ names }) => names === NONE || effects.includes(names)) &&
    (effects.length > 0 || clients.every(({ outcome }) => outcome !== 'EXECUTED')),
  'equal answers': ({ deliveries }) => {
    const named = deliveries.map(({ names }) => names).filter((names) => names !== NONE)
    return new Set(named).size < 2
  },
  // Not of the prober, which stands for many attempts.
  'no NOT_EXECUTED beside the effect of the attempt': ({ deliveries, effects }, { senders }) =>
    deliveries.every(
      ({ answer }, delivery) =>
        !saysNotExecuted(answer) ||
        senders[delivery] === 'prober' ||
        effects.every((execution) => deliveryOf(execution) !== delivery),
    ),
  'no NOT_EXECUTED of a client beside the effect of the operation': (state, settings) =>
    state.clients.every(
      (client, index) =>
        client.outcome !== 'NOT_EXECUTED' ||
        state.effects.every((execution) => !isAnswerableFor({ client, index }, execution, settings)),
    ),
} as const satisfies Record<string, (state: State, settings: Settings) => boolean>

export const PROGRESS = 'the key stays usable'

export type Invariant = keyof typeof INVARIANTS | typeof PROGRESS

/**
 * A client speaks of what it sent. What others sent with the same key it knows of only if it was told, by IN_FLIGHT.
 * A duplicate that the network made is nobody's: it may still execute after the attempt was refused.
 */
function isAnswerableFor(
  { client, index }: { client: Client; index: number },
  execution: number,
  { senders, sendersOfClients }: Settings,
): boolean {
  const delivery = deliveryOf(execution)
  if (senders[delivery] === 'network duplicate') return false
  return client.told || at(sendersOfClients, index).includes(delivery)
}
