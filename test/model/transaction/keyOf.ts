import { numbered, stateKey } from '../stateKey.js'
import { ANSWERS, OUTCOMES, PLACES, type State, TRANSACTION_STATES, WATERMARKS } from './state.js'

/** One character for each number of a state. Every field is in it, or two states would be taken for one. */
export function keyOf(state: State): string {
  const { tick, row, rowSince, watermark, swept, effects, transactions } = state
  const numbers = [tick, row, rowSince, WATERMARK[watermark], Number(swept)]
  numbers.push(state.crashes, state.losses, state.conflicts, effects.length, transactions.length, ...effects)
  for (const { execution, delivery, state: ended, failed } of transactions) {
    numbers.push(execution, delivery, TRANSACTION_STATE[ended], Number(failed))
  }
  for (const delivery of state.deliveries) {
    const { process, leader, execution, runs, floating, doubt, remembered, waitsFor, waitsSince, names } = delivery
    numbers.push(PLACE[delivery.place], process, leader, execution, runs, Number(floating), Number(doubt))
    numbers.push(remembered, waitsFor, waitsSince, ANSWER[delivery.answer], names)
  }
  for (const { attempts, unknown, told, outcome } of state.clients) {
    numbers.push(attempts, Number(unknown), Number(told), OUTCOME[outcome])
  }
  return stateKey(numbers)
}

const PLACE = numbered(PLACES)
const ANSWER = numbered(ANSWERS)
const OUTCOME = numbered(OUTCOMES)
const TRANSACTION_STATE = numbered(TRANSACTION_STATES)
const WATERMARK = numbered(WATERMARKS)
