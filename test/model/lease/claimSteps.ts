import { at } from '../at.js'
import { answerWith, refuse } from './answers.js'
import type { Scene } from './scene.js'
import { send } from './send.js'
import { NONE, type Place, type Row, type State } from './state.js'
import { isBlocked, isManualFor } from './statements.js'

/** What an attempt in lease mode can do until it runs: read, claim, take over, read the recovery points. */
export function claimSteps(scene: Scene, attempt: number): void {
  if (scene.settings.inTransactionMode.includes(scene.senderOf(attempt))) return
  STEPS_AT[at(scene.state.attempts, attempt).place]?.(scene, attempt)
}

const STEPS_AT: { [At in Place]?: (scene: Scene, attempt: number) => void } = {
  reads: read,
  claims: claim,
  inserts: insert,
  'takes over': takeOver,
  'reads points': readPoints,
}

/** To wait is to read again, so an attempt that waits is one that has not read yet. */
function read(scene: Scene, attempt: number): void {
  const { row } = scene.state
  const sender = scene.senderOf(attempt)
  if (row === undefined) {
    readAbsent(scene, attempt)
    return
  }
  switch (row.status) {
    case 'settled':
      scene.step(`${sender} reads: settled`, (next) => answerWith(scene, next, { attempt, result: row.result }))
      return
    case 'released':
      scene.step(`${sender} reads: released`, (next) => decideToTakeOver(scene, next, attempt))
      return
    case 'in flight':
      readInFlight(scene, attempt, row)
  }
}

function readAbsent(scene: Scene, attempt: number): void {
  const tooOld = scene.state.watermark === 'above'
  scene.step(`${scene.senderOf(attempt)} reads: nothing${tooOld ? ', too old' : ''}`, (next) => {
    if (tooOld) refuse(scene, next, { attempt, answer: 'KEY_TOO_OLD' })
    else at(next.attempts, attempt).place = 'claims'
  })
}

function readInFlight(scene: Scene, attempt: number, row: Row): void {
  const sender = scene.senderOf(attempt)
  if (!row.leaseOver) {
    scene.step(`${sender} reads: in flight, and has waited for waitMs`, (next) => {
      refuse(scene, next, { attempt, answer: 'IN_FLIGHT' })
    })
    if (!scene.holds("a lease is judged by the database's clock")) {
      scene.step(`${sender} reads: in flight, and over by its own clock`, (next) => {
        decideToTakeOver(scene, next, attempt)
      })
    }
    return
  }
  if (isManualFor(scene, row, attempt) || !scene.holds('an abandoned row can be taken over')) {
    scene.step(`${sender} reads: abandoned`, (next) => refuse(scene, next, { attempt, answer: 'ABANDONED' }))
  } else {
    scene.step(`${sender} reads: the lease is over`, (next) => decideToTakeOver(scene, next, attempt))
  }
}

function decideToTakeOver(scene: Scene, next: State, attempt: number): void {
  const own = at(next.attempts, attempt)
  own.place = 'takes over'
  if (scene.holds('the recovery points are read after the takeover') || next.row === undefined) return
  Object.assign(own, { charge: next.row.charge, business: next.row.business })
}

/** One statement and one step: it locks the watermark, so that no raise comes between its look and its insert. */
function claim(scene: Scene, attempt: number): void {
  if (scene.holds('the claim locks the watermark')) {
    insert(scene, attempt)
    return
  }
  const tooOld = scene.state.watermark === 'above'
  scene.step(`${scene.senderOf(attempt)} begins its claim: ${tooOld ? 'too old' : 'young enough'}`, (next) => {
    at(next.attempts, attempt).place = tooOld ? 'reads' : 'inserts'
  })
}

function insert(scene: Scene, attempt: number): void {
  send(
    scene,
    { attempt, kind: 'insert' },
    {
      landed: (next) => hold(next, attempt, 'calls'),
      missed: (next) => readAgain(next, attempt),
      lost: (next) => loseClaim(scene, next, attempt),
    },
  )
}

/** The claim may stand. But nothing has run under it, and nothing will: its lease ends by itself. */
function loseClaim(scene: Scene, next: State, attempt: number): void {
  if (scene.holds('a claim without an answer does not run')) {
    refuse(scene, next, { attempt, answer: 'STORE_UNAVAILABLE' })
    return
  }
  // It takes for granted that it has the fence of every claim.
  Object.assign(at(next.attempts, attempt), { place: 'calls', fence: 1, grant: next.grants + 1 })
}

function takeOver(scene: Scene, attempt: number): void {
  const after = scene.holds('the recovery points are read after the takeover')
  send(
    scene,
    { attempt, kind: 'take over' },
    {
      landed(next) {
        hold(next, attempt, 'reads points')
        if (!after) goOn(next, attempt)
      },
      missed: (next) => readAgain(next, attempt),
      lost: (next) => refuse(scene, next, { attempt, answer: 'STORE_UNAVAILABLE' }),
    },
  )
  if (isBlocked(scene, 'take over')) {
    scene.step(`${scene.senderOf(attempt)} waits for a lock, until its lock timeout`, (next) => {
      readAgain(next, attempt)
    })
  }
}

function readAgain(next: State, attempt: number): void {
  Object.assign(at(next.attempts, attempt), { place: 'reads', charge: NONE, business: NONE })
}

function hold(next: State, attempt: number, place: Place): void {
  if (next.row === undefined) return
  const { fence, grant, manual } = next.row
  Object.assign(at(next.attempts, attempt), { place, fence, grant, manual })
}

function readPoints(scene: Scene, attempt: number): void {
  const { row } = scene.state
  scene.step(`${scene.senderOf(attempt)} reads the recovery points`, (next) => {
    if (row !== undefined) Object.assign(at(next.attempts, attempt), { charge: row.charge, business: row.business })
    goOn(next, attempt)
  })
}

/** The handler runs from its beginning, and a recovery point that is recorded is passed over. */
function goOn(next: State, attempt: number): void {
  const own = at(next.attempts, attempt)
  own.place = own.business !== NONE ? 'returns' : own.charge !== NONE ? 'begins' : 'calls'
}
