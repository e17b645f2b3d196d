import { at } from '../at.js'
import type { State, Transaction } from './state.js'

/** Whether a transaction still holds the key, so that whoever claims it has to wait. */
export function holdsKey({ state }: Transaction): boolean {
  return state === 'open' || state === 'commit sent'
}

/** The transaction of an execution, as long as somebody can be told how it ended. */
export function transactionOf(state: State, execution: number): Transaction | undefined {
  return state.transactions.find((transaction) => transaction.execution === execution)
}

export function forgetTransaction(state: State, execution: number): void {
  state.transactions = state.transactions.filter((transaction) => transaction.execution !== execution)
}

/** Whether nobody waits for the end of a transaction any more: its delivery was lost, or its process killed. */
function isOrphan(state: State, { execution, delivery }: Transaction): boolean {
  return at(state.deliveries, delivery).execution !== execution
}

/** A transaction that ended is only there to be told of. Without a listener it is no different from none. */
export function forgetOrphans(state: State): void {
  state.transactions = state.transactions.filter(
    (transaction) => holdsKey(transaction) || !isOrphan(state, transaction),
  )
}

/** Executions are numbered by delivery, so that their number says whose they are. */
const MOST_EXECUTIONS = 10

export function deliveryOf(execution: number): number {
  return Math.floor(execution / MOST_EXECUTIONS)
}

/** Opens a transaction for a delivery. Its execution gets a number of its own. */
export function addTransaction(state: State, delivery: number): number {
  const execution = newExecution(state, delivery)
  state.transactions.push({ execution, delivery, state: 'open', failed: false })
  // In order, because it makes no difference which one began first.
  state.transactions.sort((one, other) => one.execution - other.execution)
  return execution
}

/** The first number that nothing in the state names: what is forgotten must not make states differ. */
function newExecution(state: State, delivery: number): number {
  const isNamed = (execution: number) =>
    transactionOf(state, execution) !== undefined ||
    state.effects.includes(execution) ||
    state.deliveries.some(
      ({ waitsFor, remembered, names }) => waitsFor === execution || remembered === execution || names === execution,
    )
  let execution = delivery * MOST_EXECUTIONS
  while (isNamed(execution)) execution += 1
  if (deliveryOf(execution) !== delivery)
    throw new Error('a delivery has more executions than there are numbers for them')
  return execution
}

/** From now on whatever is done with a transaction rolls it back. */
export function failTransaction(state: State, execution: number): void {
  const transaction = transactionOf(state, execution)
  if (transaction !== undefined) transaction.failed = true
}

/** What COMMIT does: row and effect are there at once. */
export function takeEffect(state: State, execution: number): void {
  state.row = execution
  addEffect(state, execution)
}

/** In order, because it makes no difference which effect came first. */
export function addEffect(state: State, execution: number): void {
  state.effects.push(execution)
  state.effects.sort((one, other) => one - other)
}
