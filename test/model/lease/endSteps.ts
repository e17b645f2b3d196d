import { at } from '../at.js'
import { answerWith, refuse } from './answers.js'
import type { Scene } from './scene.js'
import { send } from './send.js'
import { type Answer, NONE, type Place, type Result, type State } from './state.js'

/** What an attempt can do once its handler ended, or its lease was lost: settle, give the key back, abandon it, answer. */
export function endSteps(scene: Scene, attempt: number): void {
  STEPS_AT[at(scene.state.attempts, attempt).place]?.(scene, attempt)
}

const STEPS_AT: { [At in Place]?: (scene: Scene, attempt: number) => void } = {
  settles: settle,
  'gives back': giveBack,
  abandons: abandon,
  lost: readAfterLoss,
}

function settle(scene: Scene, attempt: number): void {
  const answer = (next: State): void => {
    answerFromMemory(scene, next, attempt)
  }
  if (!scene.holds('an answer waits for its settle')) {
    scene.step(`${scene.senderOf(attempt)} answers before it has settled`, answer)
  }
  send(
    scene,
    { attempt, kind: 'settle' },
    {
      landed: answer,
      missed(next) {
        const settled = next.row?.status === 'settled'
        if (settled && !scene.holds('a settle that changed nothing is answered from the row')) answer(next)
        else at(next.attempts, attempt).place = 'lost'
      },
      // Sent again, as what ends an attempt always is: the second time it changes nothing.
      lost(next) {
        if (scene.holds('a settle without an answer is sent again')) return
        refuse(scene, next, { attempt, answer: 'STORE_UNAVAILABLE' })
      },
    },
  )
}

function answerFromMemory(scene: Scene, next: State, attempt: number): void {
  const { result } = at(next.attempts, attempt)
  const forgets = result?.kind === 'error' && !scene.holds('an error after an effect leaves the outcome unknown')
  // Without its effects an error reads as one that has none.
  answerWith(scene, next, { attempt, result: forgets ? { ...result, charge: NONE, business: NONE } : result })
}

/** The error of the handler passes through; only that of a holder that lost its lease makes room for the winner's result. */
function giveBack(scene: Scene, attempt: number): void {
  const answer = (next: State): void => {
    const { result } = at(next.attempts, attempt)
    // Only where a clause is broken: an answer that was never stored.
    if (result !== undefined && (result.kind !== 'error' || scene.settings.finalErrors)) {
      answerWith(scene, next, { attempt, result })
    } else refuse(scene, next, { attempt, answer: answerOfFailure(scene, result) })
  }
  send(
    scene,
    { attempt, kind: 'release' },
    {
      landed: answer,
      missed(next) {
        at(next.attempts, attempt).place = 'lost'
      },
      lost: () => undefined,
    },
  )
}

/** A definite error proves that the operation has no effect only as long as no recovery point says otherwise. */
function answerOfFailure({ holds }: Scene, result: Result | undefined): Answer {
  if (result === undefined) return 'UNKNOWN'
  const hasEffect = result.charge !== NONE && holds('an error after an effect leaves the outcome unknown')
  return hasEffect ? 'UNKNOWN' : 'HANDLER_ERROR'
}

function abandon(scene: Scene, attempt: number): void {
  const answer = (next: State): void => refuse(scene, next, { attempt, answer: 'ABANDONED' })
  send(
    scene,
    { attempt, kind: 'abandon' },
    {
      landed: answer,
      missed(next) {
        at(next.attempts, attempt).place = 'lost'
      },
      lost: () => undefined,
    },
  )
}

function readAfterLoss(scene: Scene, attempt: number): void {
  const settled = scene.state.row?.status === 'settled'
  scene.step(`${scene.senderOf(attempt)} has lost its lease${settled ? ', and reads a result' : ''}`, (next) => {
    if (settled) answerWith(scene, next, { attempt, result: next.row?.result })
    else refuse(scene, next, { attempt, answer: 'LEASE_LOST' })
  })
}
