import { at } from '../at.js'
import { answerFrom, refuse } from './answers.js'
import type { Scene } from './scene.js'
import { NONE, type State, type Transaction } from './state.js'
import {
  addEffect,
  failTransaction,
  forgetOrphans,
  forgetTransaction,
  takeEffect,
  transactionOf,
} from './transactions.js'

/** What a delivery can do once it won: run its handler, settle, send COMMIT, and learn what became of it. */
export function runSteps(scene: Scene, delivery: number): void {
  const { place, execution } = at(scene.state.deliveries, delivery)
  if (place === 'commits') commit(scene, delivery)
  if (place !== 'runs' && place !== 'returned' && place !== 'settled') return
  const transaction = transactionOf(scene.state, execution)
  if (transaction === undefined) {
    scene.step(`${scene.senderOf(delivery)} finds its transaction ended`, (next) => {
      refuse(scene, next, { delivery, answer: 'STORE_UNAVAILABLE' })
    })
    return
  }
  if (place === 'runs') handlerEnds(scene, delivery)
  else endFloatingQuery(scene, delivery)
  if (place === 'returned') settle(scene, delivery, transaction)
  if (place === 'settled') sendCommit(scene, delivery)
}

function handlerEnds(scene: Scene, delivery: number): void {
  const { settings, state } = scene
  const { execution } = at(state.deliveries, delivery)
  const sender = scene.senderOf(delivery)
  scene.step(`${sender}: the handler wrote and returned`, (next) => {
    at(next.deliveries, delivery).place = 'returned'
  })
  if (settings.carelessHandlers) {
    scene.step(`${sender}: the handler swallowed the error of a query and returned`, (next) => {
      at(next.deliveries, delivery).place = 'returned'
      failTransaction(next, execution)
    })
    scene.step(`${sender}: the handler left a query floating and returned`, (next) => {
      Object.assign(at(next.deliveries, delivery), { place: 'returned', floating: true })
    })
  }
  // The prober shows that the key can still be used, not that its own handler works.
  if (sender === 'prober') return
  if (scene.holds('the transaction of a failed handler is rolled back')) {
    scene.step(`${sender}: the handler failed, rollback`, (next) => {
      forgetTransaction(next, execution)
      refuse(scene, next, { delivery, answer: 'HANDLER_ERROR' })
    })
  } else {
    scene.step(`${sender}: the handler failed, and what it wrote is committed`, (next) => {
      forgetTransaction(next, execution)
      takeEffect(next, execution)
      refuse(scene, next, { delivery, answer: 'HANDLER_ERROR' })
    })
  }
  if (state.conflicts < settings.conflicts) {
    scene.step(`${sender}: a query of the handler meets a conflict, rollback`, (next) => {
      next.conflicts += 1
      if (!scene.holds('a rerun begins with everything undone')) addEffect(next, execution)
      forgetTransaction(next, execution)
      runAgain(scene, next, { delivery, place: 'claims' })
    })
  }
}

/** It can end until the connection carries COMMIT; whether it can end after the settle is a clause. */
function endFloatingQuery(scene: Scene, delivery: number): void {
  const { floating, execution } = at(scene.state.deliveries, delivery)
  if (!floating) return
  const sender = scene.senderOf(delivery)
  scene.step(`${sender}: the floating query succeeds`, (next) => {
    at(next.deliveries, delivery).floating = false
  })
  scene.step(`${sender}: the floating query fails`, (next) => {
    at(next.deliveries, delivery).floating = false
    failTransaction(next, execution)
  })
}

function settle(scene: Scene, delivery: number, { execution, failed }: Transaction): void {
  const sender = scene.senderOf(delivery)
  if (at(scene.state.deliveries, delivery).floating) {
    if (scene.holds('what the handler left floating is awaited before the settle')) return
  }
  if (failed && scene.holds('a settle that fails makes the attempt fail')) {
    scene.step(`${sender}: the settle fails, rollback`, (next) => {
      forgetTransaction(next, execution)
      refuse(scene, next, { delivery, answer: 'STORE_UNAVAILABLE' })
    })
  } else if (scene.state.watermark === 'above' && scene.holds('the settle reads the watermark again')) {
    scene.step(`${sender}: the settle sees the watermark over the key, rollback`, (next) => {
      forgetTransaction(next, execution)
      refuse(scene, next, { delivery, answer: 'KEY_TOO_OLD' })
    })
  } else {
    scene.step(`${sender} settles`, (next) => {
      at(next.deliveries, delivery).place = 'settled'
    })
  }
}

function sendCommit(scene: Scene, delivery: number): void {
  scene.step(`${scene.senderOf(delivery)} sends COMMIT`, (next) => {
    const own = at(next.deliveries, delivery)
    Object.assign(own, { place: 'commits', floating: false })
    const transaction = transactionOf(next, own.execution)
    if (transaction !== undefined) transaction.state = 'commit sent'
  })
}

function commit(scene: Scene, delivery: number): void {
  const { settings, state } = scene
  const { execution } = at(state.deliveries, delivery)
  const ended = transactionOf(state, execution)?.state
  const sender = scene.senderOf(delivery)
  if (ended === 'committed') {
    scene.step(`${sender}: COMMIT is acknowledged`, (next) => {
      forgetTransaction(next, execution)
      answerFrom(scene, next, { delivery, execution })
    })
  }
  if (ended === 'rolled back') {
    scene.step(`${sender}: COMMIT met a conflict`, (next) => {
      forgetTransaction(next, execution)
      runAgain(scene, next, { delivery, place: 'claims' })
    })
    // A deferred constraint: Postgres' own error, which says nothing to the client.
    scene.step(`${sender}: COMMIT was refused`, (next) => {
      forgetTransaction(next, execution)
      refuse(scene, next, { delivery, answer: 'UNKNOWN' })
    })
  }
  if (!scene.holds('an answer waits for the acknowledgement of COMMIT')) {
    scene.step(`${sender} answers before COMMIT is acknowledged`, (next) => {
      answerFrom(scene, next, { delivery, execution })
    })
  }
  if (state.losses < settings.losses) {
    scene.step(`${sender}: the connection is lost during COMMIT`, (next) => {
      next.losses += 1
      const own = at(next.deliveries, delivery)
      own.doubt = true
      if (!scene.holds('a COMMIT without an answer is answered from the row')) own.remembered = execution
      runAgain(scene, next, { delivery, place: 'reads' })
      forgetOrphans(next)
    })
  }
}

/** Asks the claim again, in a new transaction, as often as a rerun is allowed. */
function runAgain(
  scene: Scene,
  next: State,
  { delivery, place }: { delivery: number; place: 'claims' | 'reads' },
): void {
  const own = at(next.deliveries, delivery)
  if (own.runs > scene.settings.maxReruns) refuse(scene, next, { delivery, answer: 'STORE_UNAVAILABLE' })
  else Object.assign(own, { place, execution: NONE })
}
