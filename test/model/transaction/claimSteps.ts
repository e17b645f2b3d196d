import { at } from '../at.js'
import { answerFrom, refuse } from './answers.js'
import type { Scene } from './scene.js'
import { type Delivery, isLive, NONE, type Place, type State } from './state.js'
import { addTransaction, holdsKey, transactionOf } from './transactions.js'

/** What a delivery can do until it runs: arrive, follow another one of its process, read, claim, wait. */
export function claimSteps(scene: Scene, delivery: number): void {
  STEPS_AT[at(scene.state.deliveries, delivery).place]?.(scene, delivery)
}

const STEPS_AT: { [At in Place]?: (scene: Scene, delivery: number) => void } = {
  'on its way': arrive,
  follows: follow,
  reads: read,
  claims: claim,
  inserts: insert,
  waits: wait,
  lost: readAfterLoss,
}

function arrive(scene: Scene, delivery: number): void {
  for (const process of processesFor(scene, delivery)) {
    scene.step(`${scene.senderOf(delivery)} arrives at process ${process}`, (next) => {
      at(next.deliveries, delivery).process = process
      followOrLead(scene, next, delivery)
    })
  }
}

function processesFor({ settings, state }: Scene, delivery: number): readonly number[] {
  if (settings.alone) return [delivery]
  // The first one makes its process the first: as long as the two are alike, the other choice is the same again.
  const alike = settings.retention[0] === settings.retention[1]
  return alike && state.deliveries.every(({ process }) => process === NONE) ? [0] : [0, 1]
}

/** An attempt that is not the first reads before it claims. */
function followOrLead(scene: Scene, next: State, delivery: number): void {
  const own = at(next.deliveries, delivery)
  own.leader = next.deliveries.findIndex((other) => other !== own && leads(other, own.process))
  const sender = scene.senderOf(delivery)
  const looksFirst = sender === 'attempt 2' || sender === 'prober'
  own.place = own.leader !== NONE ? 'follows' : looksFirst ? 'reads' : 'claims'
}

function leads(other: Delivery, process: number): boolean {
  return isLive(other) && other.process === process && other.leader === NONE
}

function follow(scene: Scene, delivery: number): void {
  const { leader: index, process } = at(scene.state.deliveries, delivery)
  const leader = at(scene.state.deliveries, index)
  const sender = scene.senderOf(delivery)
  if (leader.place === 'ended' && leader.names !== NONE) {
    scene.step(`${sender} is answered with the result of ${scene.senderOf(index)}`, (next) => {
      answerFrom(scene, next, { delivery, execution: leader.names })
    })
  } else if (!leads(leader, process)) {
    scene.step(`${sender}: its leader brought no result`, (next) => followOrLead(scene, next, delivery))
  } else if (leader.place === 'commits' && !scene.holds('a follower waits for the acknowledgement of its leader')) {
    scene.step(`${sender} is answered with what ${scene.senderOf(index)} is about to commit`, (next) => {
      answerFrom(scene, next, { delivery, execution: leader.execution })
    })
  }
  scene.step(`${sender} has followed for waitMs`, (next) => refuse(scene, next, { delivery, answer: 'IN_FLIGHT' }))
}

function read(scene: Scene, delivery: number): void {
  const { row } = scene.state
  const finding = row !== NONE ? 'a result' : isTooOld(scene, delivery) ? 'nothing, too old' : 'nothing'
  scene.step(`${scene.senderOf(delivery)} reads: ${finding}`, (next) => {
    if (row !== NONE) answerFromRow(scene, next, delivery)
    else if (finding === 'nothing') at(next.deliveries, delivery).place = 'claims'
    else refuse(scene, next, { delivery, answer: 'KEY_TOO_OLD' })
  })
}

/** By the retention of the delivery's own process, and by the watermark as it is committed now. */
function isTooOld({ settings, state }: Scene, delivery: number): boolean {
  const { process } = at(state.deliveries, delivery)
  const retention = at(settings.retention, process % 2)
  return state.tick - settings.birth > retention || state.watermark === 'above'
}

/** The first half of the claim: its snapshot is taken. What the insert waits for happens after that, and unseen. */
function claim(scene: Scene, delivery: number): void {
  const tooOld = isTooOld(scene, delivery)
  scene.step(`${scene.senderOf(delivery)} begins its claim: ${tooOld ? 'too old' : 'young enough'}`, (next) => {
    at(next.deliveries, delivery).place = tooOld ? 'lost' : 'inserts'
  })
}

/** The second half. Unlike the snapshot, a conflict is judged by what is there now. */
function insert(scene: Scene, delivery: number): void {
  const { state } = scene
  const sender = scene.senderOf(delivery)
  const holder = state.transactions.find(holdsKey)
  if (state.row !== NONE) {
    scene.step(`${sender} meets a committed row`, (next) => {
      at(next.deliveries, delivery).place = 'lost'
    })
  } else if (holder !== undefined && scene.holds('only an insert grants the right to run')) {
    scene.step(`${sender} waits for the transaction of ${scene.senderOf(holder.delivery)}`, (next) => {
      Object.assign(at(next.deliveries, delivery), {
        place: 'waits',
        waitsFor: holder.execution,
        waitsSince: state.tick,
      })
    })
  } else {
    scene.step(`${sender} wins the claim`, (next) => {
      const own = at(next.deliveries, delivery)
      own.execution = addTransaction(next, delivery)
      own.runs += 1
      own.place = 'runs'
    })
  }
}

/** The lock timeout ends the wait for one transaction. A claim can meet several, one after the other. */
function wait(scene: Scene, delivery: number): void {
  const sender = scene.senderOf(delivery)
  const { waitsFor } = at(scene.state.deliveries, delivery)
  const holder = transactionOf(scene.state, waitsFor)
  if (holder === undefined || !holdsKey(holder)) {
    scene.step(`${sender}: its wait is over`, (next) => stopWaiting(next, delivery, 'inserts'))
    return
  }
  scene.step(`${sender}: the lock timeout, and it asks again`, (next) => stopWaiting(next, delivery, 'reads'))
  scene.step(`${sender}: the lock timeout, and waitMs is over`, (next) => {
    refuse(scene, next, { delivery, answer: 'IN_FLIGHT' })
  })
}

function stopWaiting(next: State, delivery: number, place: 'inserts' | 'reads'): void {
  Object.assign(at(next.deliveries, delivery), { place, waitsFor: NONE, waitsSince: NONE })
}

/** The statement after a claim that inserted nothing. */
function readAfterLoss(scene: Scene, delivery: number): void {
  const { row } = scene.state
  const finding = row !== NONE ? 'the result' : isTooOld(scene, delivery) ? 'nothing, too old' : 'nothing any more'
  scene.step(`${scene.senderOf(delivery)} reads after its claim: ${finding}`, (next) => {
    if (row !== NONE) answerFromRow(scene, next, delivery)
    else if (finding === 'nothing any more') at(next.deliveries, delivery).place = 'claims'
    else refuse(scene, next, { delivery, answer: 'KEY_TOO_OLD' })
  })
}

function answerFromRow(scene: Scene, next: State, delivery: number): void {
  const { doubt, remembered } = at(next.deliveries, delivery)
  const fromMemory = doubt && !scene.holds('a COMMIT without an answer is answered from the row')
  answerFrom(scene, next, { delivery, execution: fromMemory ? remembered : next.row })
}
