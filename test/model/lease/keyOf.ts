import { numbered, stateKey } from '../stateKey.js'
import {
  ANSWERS,
  MISDEEDS,
  OUTCOMES,
  PLACES,
  RESULT_KINDS,
  type Result,
  STATEMENT_KINDS,
  STATUSES,
  type State,
  WATERMARKS,
} from './state.js'

/** Every field of a state is in its key, or two states would be taken for one. */
export function keyOf(state: State): string {
  const { row, charges, business, transactions, afloat, misdeeds } = state
  const numbers = [WATERMARK[state.watermark], Number(state.swept), Number(state.refused)]
  numbers.push(state.grants, state.highestFence, state.crashes, state.losses, state.failures, state.operations)
  numbers.push(charges.length, business.length, transactions.length, afloat.length, misdeeds.length)
  numbers.push(...charges, ...business, ...misdeeds.map((misdeed) => MISDEED[misdeed]), Number(row !== undefined))
  if (row !== undefined) {
    numbers.push(STATUS[row.status], row.fence, Number(row.leaseOver), Number(row.manual), row.charge, row.business)
    numbers.push(numberOf(row.result), row.grant, row.chargeFence, row.businessFence)
  }
  for (const { attempt, fence, grant, locks, sent, heard } of transactions) {
    numbers.push(attempt, fence, grant, Number(locks), Number(sent), Number(heard))
  }
  for (const { kind, attempt, fence, grant, charge, result } of afloat) {
    numbers.push(STATEMENT_KIND[kind], attempt, fence, grant, charge, numberOf(result))
  }
  for (const attempt of state.attempts) {
    numbers.push(PLACE[attempt.place], attempt.fence, attempt.grant, Number(attempt.manual))
    numbers.push(attempt.charge, attempt.business)
    numbers.push(numberOf(attempt.result), ANSWER[attempt.answer], numberOf(attempt.names))
  }
  for (const { attempts, unknown, told, outcome } of state.clients) {
    numbers.push(attempts, Number(unknown), Number(told), OUTCOME[outcome])
  }
  return stateKey(numbers)
}

/** The same number for equal results, as long as there are fewer than nine charges and nine business rows. */
export function numberOf(result: Result | undefined): number {
  if (result === undefined) return 0
  const { kind, charge, business } = result
  return 100 * (RESULT_KIND[kind] + 1) + 10 * (charge + 1) + business + 1
}

const PLACE = numbered(PLACES)
const ANSWER = numbered(ANSWERS)
const OUTCOME = numbered(OUTCOMES)
const STATUS = numbered(STATUSES)
const RESULT_KIND = numbered(RESULT_KINDS)
const STATEMENT_KIND = numbered(STATEMENT_KINDS)
const WATERMARK = numbered(WATERMARKS)
const MISDEED = numbered(MISDEEDS)
