import type { Scene } from './scene.js'
import { FRESH, isLive, NONE, type State } from './state.js'
import { forgetOrphans, forgetTransaction, takeEffect, transactionOf } from './transactions.js'

/** What happens around the deliveries: Postgres ends transactions, processes die, time passes, the sweep forgets. */
export function surroundingSteps(scene: Scene): void {
  endTransactions(scene)
  killProcesses(scene)
  passTime(scene)
  sweep(scene)
}

function endTransactions(scene: Scene): void {
  for (const { execution, delivery, state, failed } of scene.state.transactions) {
    const whose = `the transaction of ${scene.senderOf(delivery)}`
    if (state === 'commit sent') {
      scene.step(
        `Postgres commits ${whose}${failed ? ', which failed: it rolls back and says nothing' : ''}`,
        (next) => {
          if (!failed) commitRow(scene, next, execution)
          endAs(next, execution, 'committed')
        },
      )
      scene.step(`Postgres rolls ${whose} back at COMMIT`, (next) => endAs(next, execution, 'rolled back'))
    }
    if (state === 'open' && scene.holds('the database ends a transaction that went silent')) {
      // A timeout, or a connection that was closed.
      scene.step(`Postgres ends ${whose}`, (next) => forgetTransaction(next, execution))
    }
  }
}

function commitRow(scene: Scene, next: State, execution: number): void {
  takeEffect(next, execution)
  if (!scene.holds('the sweep goes by birth')) next.rowSince = next.tick
}

function endAs(next: State, execution: number, state: 'committed' | 'rolled back'): void {
  const transaction = transactionOf(next, execution)
  if (transaction !== undefined) transaction.state = state
  forgetOrphans(next)
}

function killProcesses(scene: Scene): void {
  const { settings, state } = scene
  if (state.crashes >= settings.crashes) return
  for (const process of new Set(state.deliveries.filter(isLive).map((delivery) => delivery.process))) {
    scene.step(`process ${process} is killed`, (next) => {
      next.crashes += 1
      state.deliveries.forEach((delivery, index) => {
        if (!isLive(delivery) || delivery.process !== process) return
        const place = scene.senderOf(index) === 'prober' ? 'on its way' : 'dead'
        next.deliveries[index] = { ...FRESH, place }
      })
      forgetOrphans(next)
    })
  }
}

/**
 * A statement that waits for nobody is over within a tick, and so is the wait for one lock. Hence the clock stands
 * between the snapshot of a claim and its insert, and while a raise is not committed; and it goes on once at the most
 * during one wait.
 */
function passTime({ settings, state, step }: Scene): void {
  if (state.tick >= settings.ticks || state.watermark === 'rising') return
  const stands = state.deliveries.some(
    ({ place, waitsSince }) => place === 'inserts' || (place === 'waits' && waitsSince < state.tick),
  )
  if (stands) return
  step('a margin of time passes', (next) => {
    next.tick += 1
  })
}

function sweep(scene: Scene): void {
  const { settings, state, step } = scene
  if (state.watermark === 'below' && state.tick - settings.birth > settings.sweptPast) {
    step('the sweep raises the watermark over the key', (next) => {
      next.watermark = 'rising'
    })
  }
  if (state.watermark === 'rising') {
    step('the raise commits', (next) => {
      next.watermark = 'above'
    })
  }
  if (state.row !== NONE && mayDelete(scene)) {
    step('the sweep deletes the row', (next) => {
      Object.assign(next, { row: NONE, rowSince: NONE, swept: true })
    })
  }
}

function mayDelete({ settings, state, holds }: Scene): boolean {
  if (!holds('the sweep goes by birth')) return state.tick - state.rowSince > settings.sweptPast
  if (state.watermark === 'rising') return !holds('a raise commits before its delete')
  // The code waits for a margin. Nothing here depends on it, so the model deletes whenever it may.
  return state.watermark === 'above'
}
