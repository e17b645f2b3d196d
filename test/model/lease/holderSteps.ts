import { at } from '../at.js'
import type { Scene } from './scene.js'
import { send } from './send.js'
import { NONE, type Place, type Result, runs, type State } from './state.js'
import { chargeOf, execute, isBlocked, isHeldBy, noteCall, statementOf } from './statements.js'

/** What a holder can do outside of `recoveryPoint.tx` until its handler ends: call the provider, record that, fail, renew. */
export function holderSteps(scene: Scene, attempt: number): void {
  const own = at(scene.state.attempts, attempt)
  STEPS_AT[own.place]?.(scene, attempt)
  if (!runs(own)) return
  renew(scene, attempt)
  fear(scene, attempt)
}

const STEPS_AT: { [At in Place]?: (scene: Scene, attempt: number) => void } = {
  calls: call,
  records: record,
  'has looked': recordAfterLook,
  'asks for the record': askForRecord,
  returns: handlerReturns,
}

/** A holder that lost its lease does not know yet, and its call arrives like any other. */
function call(scene: Scene, attempt: number): void {
  const { settings, state, step } = scene
  const sender = scene.senderOf(attempt)
  if (!state.refused) {
    step(`${sender} calls the provider`, (next) => {
      const own = at(next.attempts, attempt)
      noteCall(next, own)
      execute(scene, next, statementOf(state, attempt, 'call'))
      const charge = settings.forgetfulProvider ? next.charges.length - 1 : chargeOf(scene, next, attempt)
      Object.assign(own, { charge, place: 'records' })
    })
  }
  if (state.losses < settings.losses) {
    step(`${sender} calls the provider, and the answer is lost`, (next) => {
      next.losses += 1
      noteCall(next, at(next.attempts, attempt))
      next.afloat.push(statementOf(state, attempt, 'call'))
      failWithoutProof(scene, next, attempt)
    })
  }
  if (state.refused || mayFail(scene, attempt, state.charges.length === 0)) {
    step(`${sender} calls the provider, which refuses`, (next) => {
      if (!state.refused) next.failures += 1
      next.refused = true
      failForSure(scene, next, attempt)
    })
  }
}

/** The prober shows that the key can be used, not that its own handler works. */
export function mayFail({ settings, state, senderOf }: Scene, attempt: number, possible = true): boolean {
  return possible && state.failures < settings.failures && senderOf(attempt) !== 'prober'
}

/** The handler threw an error that proves nothing. */
export function failWithoutProof({ settings, senderOf, holds }: Scene, next: State, attempt: number): void {
  const own = at(next.attempts, attempt)
  const byRow = holds('the policy of the row governs an unproven failure')
  const manual = byRow ? own.manual : settings.manual.includes(senderOf(attempt))
  own.place = manual ? 'abandons' : 'gives back'
}

/** The handler threw a definite error. It is stored where `storeError` wants it, else the key is given back. */
export function failForSure({ settings, holds }: Scene, next: State, attempt: number): void {
  const own = at(next.attempts, attempt)
  const result: Result = { kind: 'error', charge: own.charge, business: own.business }
  const settles = settings.finalErrors && holds('a final error is settled')
  Object.assign(own, { place: settles ? 'settles' : 'gives back', result })
}

function record(scene: Scene, attempt: number): void {
  if (scene.holds('a record locks the row of the key')) {
    sendRecord(scene, attempt)
    return
  }
  const held = isHeldBy(scene.state.row, at(scene.state.attempts, attempt))
  scene.step(`${scene.senderOf(attempt)} looks whether it holds the key: ${held}`, (next) => {
    at(next.attempts, attempt).place = held ? 'has looked' : 'lost'
  })
}

function recordAfterLook(scene: Scene, attempt: number): void {
  sendRecord(scene, attempt)
}

function sendRecord(scene: Scene, attempt: number): void {
  send(
    scene,
    { attempt, kind: 'record' },
    {
      landed(next) {
        at(next.attempts, attempt).place = 'begins'
      },
      missed(next) {
        at(next.attempts, attempt).place = 'asks for the record'
      },
      // Sent again: if the first one took effect, the second one collides with it.
      lost(next) {
        at(next.attempts, attempt).place = scene.holds('a record without an answer is sent again') ? 'records' : 'calls'
      },
    },
  )
}

/** A point that is there although the attempt was not told so is its own if the fence is. Else the lease is lost. */
function askForRecord(scene: Scene, attempt: number): void {
  const { row } = scene.state
  const { fence } = at(scene.state.attempts, attempt)
  const there = row !== undefined && row.charge !== NONE && row.chargeFence === fence
  scene.step(`${scene.senderOf(attempt)} asks for the record: ${there ? 'there' : 'not its own'}`, (next) => {
    Object.assign(at(next.attempts, attempt), there ? { charge: row.charge, place: 'begins' } : { place: 'lost' })
  })
}

function handlerReturns(scene: Scene, attempt: number): void {
  const { settings, step } = scene
  const sender = scene.senderOf(attempt)
  const { charge, business } = at(scene.state.attempts, attempt)
  const settleAs = (kind: Result['kind']) => (next: State) => {
    Object.assign(at(next.attempts, attempt), { place: 'settles', result: { kind, charge, business } })
  }
  step(`${sender}: the handler returned`, settleAs('value'))
  if (settings.unstorableResults) {
    const tombstone = settleAs('tombstone')
    step(`${sender}: the handler returned what cannot be stored`, (next) => {
      tombstone(next)
      if (!scene.holds('a result that cannot be stored is settled')) at(next.attempts, attempt).place = 'gives back'
    })
  }
  if (mayFail(scene, attempt)) {
    step(`${sender}: the handler failed at its end, which proves nothing`, (next) => {
      next.failures += 1
      failWithoutProof(scene, next, attempt)
    })
  }
}

/**
 * A holder whose renewals do not come through for the length of a lease has to fear that it is lost, and one that is
 * told so stops as well. Its handler is somewhere in between: what it sent may arrive all the same.
 */
function fear(scene: Scene, attempt: number): void {
  const { settings, state, step } = scene
  const own = at(state.attempts, attempt)
  const isLost = !isHeldBy(state.row, own)
  if (!isLost && state.losses >= settings.losses) return
  if (own.place !== 'calls' && own.place !== 'writes' && own.place !== 'commits') return
  step(
    `${scene.senderOf(attempt)} ${isLost ? 'learns' : 'fears'} that its lease is lost, while its handler runs`,
    (next) => {
      if (!isLost) next.losses += 1
      if (own.place === 'calls') next.afloat.push(statementOf(state, attempt, 'call'))
      for (const transaction of next.transactions) if (transaction.attempt === attempt) transaction.heard = false
      at(next.attempts, attempt).place = 'lost'
    },
  )
}

/** Beside whatever the handler does. It matters only once the lease is over, and nobody has taken it over. */
function renew(scene: Scene, attempt: number): void {
  const { settings, state, step } = scene
  const { row } = state
  const statement = statementOf(state, attempt, 'renew')
  if (row?.status !== 'in flight' || isBlocked(scene, 'renew')) return
  const sender = scene.senderOf(attempt)
  const names = row.fence === statement.fence
  if (names ? row.leaseOver : !scene.holds('a renewal names the fence')) {
    step(`${sender} renews its lease`, (next) => execute(scene, next, statement))
  }
  if (names && settings.lateRenewals && state.losses < settings.losses) {
    step(`${sender} renews its lease, and the answer is lost`, (next) => {
      next.losses += 1
      next.afloat.push(statement)
    })
  }
}
