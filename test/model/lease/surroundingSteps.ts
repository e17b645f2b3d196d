import { endPointTransactions } from './pointSteps.js'
import type { Scene } from './scene.js'
import { landOrSink } from './send.js'
import { FRESH, isLive, NONE } from './state.js'
import { isBlocked, note } from './statements.js'

/** What happens around the attempts: leases run out, processes die, an operator decides, the sweep forgets. */
export function surroundingSteps(scene: Scene): void {
  landOrSink(scene)
  endPointTransactions(scene)
  runOut(scene)
  killProcesses(scene)
  operate(scene)
  sweep(scene)
}

function runOut({ state, step }: Scene): void {
  if (state.row?.status !== 'in flight' || state.row.leaseOver) return
  step('the lease runs out', (next) => {
    if (next.row !== undefined) next.row.leaseOver = true
  })
}

/** Every attempt is in a process of its own. What it sent stays sent. */
function killProcesses(scene: Scene): void {
  const { settings, state } = scene
  if (state.crashes >= settings.crashes) return
  state.attempts.forEach((attempt, index) => {
    if (!isLive(attempt)) return
    scene.step(`the process of ${scene.senderOf(index)} is killed`, (next) => {
      next.crashes += 1
      next.attempts[index] = { ...FRESH, place: scene.senderOf(index) === 'prober' ? 'reads' : 'dead' }
      for (const transaction of next.transactions) if (transaction.attempt === index) transaction.heard = false
    })
  })
}

/** Somebody who looked what the provider has, and decides about a row that is abandoned or was released. */
function operate(scene: Scene): void {
  const { settings, state, step } = scene
  const { row } = state
  if (state.operations >= settings.operations || isBlocked(scene, 'settle')) return
  if (row === undefined || row.status === 'settled' || (row.status === 'in flight' && !row.leaseOver)) return
  step('an operator releases the key', (next) => {
    next.operations += 1
    next.row = { ...row, status: 'released', fence: row.fence + 1, leaseOver: false, grant: NONE }
  })
  if (state.charges.length === 0) return
  step('an operator resolves the key', (next) => {
    next.operations += 1
    next.row = {
      ...row,
      status: 'settled',
      fence: row.fence + 1,
      leaseOver: false,
      result: { kind: 'resolved', charge: 0, business: row.business },
      grant: NONE,
    }
  })
}

function sweep(scene: Scene): void {
  const { settings, state, step } = scene
  const { row, watermark } = state
  if (!settings.sweep) return
  if (watermark === 'below') {
    step('the sweep raises the watermark over the key', (next) => {
      next.watermark = 'rising'
    })
  }
  if (watermark === 'rising') {
    step('the raise commits', (next) => {
      next.watermark = 'above'
    })
  }
  // A row that somebody has locked is skipped.
  if (row === undefined || watermark !== 'above' || isBlocked(scene, 'settle') || isSpared(scene)) return
  step('the sweep deletes the row', (next) => {
    if (row.status === 'in flight') {
      if (!row.leaseOver) note(next, 'a live lease is never swept')
      else if (row.manual) note(next, 'an abandoned row under manual is never swept')
    }
    Object.assign(next, { row: undefined, swept: true })
  })
}

function isSpared({ state: { row }, holds }: Scene): boolean {
  if (row?.status !== 'in flight') return false
  if (!row.leaseOver) return holds('the sweep spares a live lease')
  return row.manual && holds('the sweep spares an abandoned row under manual')
}
