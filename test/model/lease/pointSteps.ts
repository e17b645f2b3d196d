import { at } from '../at.js'
import { failForSure, failWithoutProof, mayFail } from './holderSteps.js'
import type { Scene } from './scene.js'
import { NONE, type Place, type PointTransaction, type State } from './state.js'
import { isHeldBy, isTaken, noteLostHolder } from './statements.js'

/** `recoveryPoint.tx`: a transaction that locks the row of the key, writes, records and commits. */
export function pointSteps(scene: Scene, attempt: number): void {
  STEPS_AT[at(scene.state.attempts, attempt).place]?.(scene, attempt)
}

const STEPS_AT: { [At in Place]?: (scene: Scene, attempt: number) => void } = {
  begins: begin,
  writes: write,
  commits: loseCommit,
  committed: acknowledge,
  'rolled back': fail,
  'asks for the point': askForPoint,
}

function begin(scene: Scene, attempt: number): void {
  const { state, step } = scene
  const { fence, grant } = at(state.attempts, attempt)
  const held = isHeldBy(state.row, { fence })
  // To lock the row it waits for whoever updates it in a transaction.
  if (isTaken(state)) return
  step(`${scene.senderOf(attempt)} begins recoveryPoint.tx${held ? '' : ', and finds its lease lost'}`, (next) => {
    const own = at(next.attempts, attempt)
    own.place = held ? 'writes' : 'lost'
    if (!held) return
    const locks = scene.holds('recoveryPoint.tx locks the row of the key')
    next.transactions.push({ attempt, fence, grant, locks, sent: false, heard: true })
  })
}

/** The transaction of an attempt that waits for it. Those of its earlier tries may still be there. */
function transactionOf({ transactions }: State, attempt: number): PointTransaction | undefined {
  return transactions.find((transaction) => transaction.attempt === attempt && transaction.heard)
}

function remove(next: State, attempt: number): void {
  next.transactions = next.transactions.filter((transaction) => transaction.attempt !== attempt || !transaction.heard)
}

function write(scene: Scene, attempt: number): void {
  const { state, step } = scene
  const sender = scene.senderOf(attempt)
  if (transactionOf(state, attempt) === undefined) {
    step(`${sender} finds its transaction ended`, (next) => failWithoutProof(scene, next, attempt))
    return
  }
  if (mayFail(scene, attempt)) {
    step(`${sender}: the work in recoveryPoint.tx failed for sure, rollback`, (next) => {
      next.failures += 1
      remove(next, attempt)
      failForSure(scene, next, attempt)
    })
  }
  // The name of the point is part of a primary key: whoever records it waits for one that is not committed.
  if (state.transactions.some(({ sent }) => sent)) return
  const recorded = state.row === undefined || state.row.business !== NONE
  step(`${sender} writes, records, ${recorded ? 'meets a record and rolls back' : 'and sends COMMIT'}`, (next) => {
    const transaction = transactionOf(next, attempt)
    if (transaction === undefined) return
    transaction.sent = true
    at(next.attempts, attempt).place = recorded ? 'asks for the point' : 'commits'
    if (recorded) remove(next, attempt)
  })
}

function loseCommit(scene: Scene, attempt: number): void {
  const { settings, state, step } = scene
  if (state.losses >= settings.losses) return
  step(`${scene.senderOf(attempt)}: the connection is lost during COMMIT`, (next) => {
    next.losses += 1
    const transaction = transactionOf(next, attempt)
    if (transaction !== undefined) transaction.heard = false
    doubt(scene, next, attempt)
  })
}

function doubt(scene: Scene, next: State, attempt: number): void {
  const own = at(next.attempts, attempt)
  if (scene.holds('a COMMIT without an answer is run again')) own.place = 'begins'
  // It takes the number that the row would have.
  else Object.assign(own, { business: next.business.length, place: 'returns' })
}

function acknowledge(scene: Scene, attempt: number): void {
  const { settings, state, step } = scene
  step(`${scene.senderOf(attempt)}: COMMIT is acknowledged`, (next) => {
    const business = next.business.length - 1
    const own = at(next.attempts, attempt)
    Object.assign(own, { place: 'returns', business })
    // Only now, on its own, where that clause is broken.
    if (!scene.holds('the business row and its recovery point commit together') && next.row !== undefined) {
      Object.assign(next.row, { business, businessFence: own.fence })
    }
  })
  if (state.losses < settings.losses) {
    step(`${scene.senderOf(attempt)}: the connection is lost after COMMIT`, (next) => {
      next.losses += 1
      doubt(scene, next, attempt)
    })
  }
}

function fail(scene: Scene, attempt: number): void {
  scene.step(`${scene.senderOf(attempt)}: COMMIT was refused`, (next) => failWithoutProof(scene, next, attempt))
}

/** Whose record it was that this one met. A COMMIT without an answer may have taken effect: then it is its own. */
function askForPoint(scene: Scene, attempt: number): void {
  const { row } = scene.state
  const { fence } = at(scene.state.attempts, attempt)
  const there = row !== undefined && row.business !== NONE && row.businessFence === fence
  scene.step(`${scene.senderOf(attempt)} asks for the point: ${there ? 'there' : 'not its own'}`, (next) => {
    Object.assign(at(next.attempts, attempt), there ? { business: row.business, place: 'returns' } : { place: 'lost' })
  })
}

/** What Postgres does with these transactions by itself. */
export function endPointTransactions(scene: Scene): void {
  scene.state.transactions.forEach((transaction, index) => {
    const whose = `the recoveryPoint.tx of ${scene.senderOf(transaction.attempt)}`
    const end = (next: State, place: Place): void => {
      next.transactions = next.transactions.filter((_, other) => other !== index)
      if (transaction.heard && transaction.sent) at(next.attempts, transaction.attempt).place = place
    }
    if (transaction.sent) {
      scene.step(`Postgres commits ${whose}`, (next) => {
        end(next, 'committed')
        commit(scene, next, transaction)
      })
    }
    // The prober tries again after each of these, so there must be an end to them.
    const counts = transaction.heard && scene.senderOf(transaction.attempt) === 'prober'
    if (counts && scene.state.failures >= scene.settings.failures) return
    scene.step(`Postgres rolls ${whose} back`, (next) => {
      if (counts) next.failures += 1
      end(next, 'rolled back')
    })
  })
}

function commit({ holds }: Scene, next: State, transaction: PointTransaction): void {
  if (next.row === undefined) return
  noteLostHolder(next, transaction)
  next.business.push(transaction.attempt)
  if (!holds('the business row and its recovery point commit together')) return
  Object.assign(next.row, { business: next.business.length - 1, businessFence: transaction.fence })
}
