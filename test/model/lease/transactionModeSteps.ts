import { at } from '../at.js'
import { answerWith, refuse } from './answers.js'
import type { Scene } from './scene.js'
import { NONE, type Place, type Row, type State } from './state.js'
import { grant, isBlocked, isTaken } from './statements.js'

/** What an attempt can do whose deploy has the procedure in transaction mode. Its handler is one step. */
export function transactionModeSteps(scene: Scene, attempt: number): void {
  if (!scene.settings.inTransactionMode.includes(scene.senderOf(attempt))) return
  STEPS_AT[at(scene.state.attempts, attempt).place]?.(scene, attempt)
}

const STEPS_AT: { [At in Place]?: (scene: Scene, attempt: number) => void } = {
  reads: read,
  'claims in a transaction': claim,
  'claims a released row': claim,
  'runs in a transaction': run,
}

function read(scene: Scene, attempt: number): void {
  const { row, watermark } = scene.state
  const sender = scene.senderOf(attempt)
  const goTo = (place: Place) => (next: State) => {
    at(next.attempts, attempt).place = place
  }
  if (row === undefined && watermark === 'above') {
    scene.step(`${sender} reads: nothing, too old`, (next) => refuse(scene, next, { attempt, answer: 'KEY_TOO_OLD' }))
  } else if (row === undefined) {
    scene.step(`${sender} reads: nothing`, goTo('claims in a transaction'))
  } else if (row.status === 'settled') {
    scene.step(`${sender} reads: settled`, (next) => answerWith(scene, next, { attempt, result: row.result }))
  } else if (isClaimable(scene, row)) {
    scene.step(`${sender} reads: ${row.status}`, goTo('claims a released row'))
  } else {
    const answer = row.status === 'in flight' && !row.leaseOver ? 'IN_FLIGHT' : 'ABANDONED'
    scene.step(`${sender} reads: a lease, ${answer}`, (next) => refuse(scene, next, { attempt, answer }))
  }
}

/** What a lease did outside the database, a transaction can neither repeat nor undo. */
function isClaimable({ holds }: Scene, { status, leaseOver, charge, business }: Row): boolean {
  if (status === 'in flight') return leaseOver && !holds('transaction mode takes no lease over')
  if (status === 'settled') return false
  return (charge === NONE && business === NONE) || !holds('transaction mode leaves recovery points alone')
}

/** An insert, or an update of a released row. Nobody sees it before it commits. */
function claim(scene: Scene, attempt: number): void {
  const { row, watermark } = scene.state
  const sender = scene.senderOf(attempt)
  const inserts = at(scene.state.attempts, attempt).place === 'claims in a transaction'
  if (inserts ? isTaken(scene.state) : isBlocked(scene, 'take over')) {
    scene.step(`${sender} waits for a lock, until its lock timeout`, (next) => readAgain(next, attempt))
    return
  }
  const wins = inserts ? row === undefined && watermark !== 'above' : row !== undefined && isClaimable(scene, row)
  scene.step(`${sender} claims in a transaction${wins ? '' : ', and changes nothing'}`, (next) => {
    if (wins) at(next.attempts, attempt).place = 'runs in a transaction'
    else readAgain(next, attempt)
  })
}

function readAgain(next: State, attempt: number): void {
  at(next.attempts, attempt).place = 'reads'
}

function run(scene: Scene, attempt: number): void {
  const { row, watermark } = scene.state
  const sender = scene.senderOf(attempt)
  scene.step(`${sender} rolls back`, (next) => refuse(scene, next, { attempt, answer: 'HANDLER_ERROR' }))
  if (row === undefined && watermark === 'above') {
    scene.step(`${sender}: the settle sees the watermark over the key, rollback`, (next) => {
      refuse(scene, next, { attempt, answer: 'KEY_TOO_OLD' })
    })
    return
  }
  scene.step(`${sender} writes, settles and commits`, (next) => {
    const result = { kind: 'value', charge: NONE, business: next.business.length } as const
    next.business.push(attempt)
    next.row = {
      ...(row ?? { manual: false, charge: NONE, chargeFence: NONE, business: NONE, businessFence: NONE }),
      status: 'settled',
      fence: (row?.fence ?? 0) + 1,
      leaseOver: false,
      result,
      grant: NONE,
    }
    grant(next, next.row)
    answerWith(scene, next, { attempt, result })
  })
}
