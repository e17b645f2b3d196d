import type { Scene } from './scene.js'
import { type Answer, type Attempt, FRESH, type Result, type State } from './state.js'

/** Whether an attempt was told that it has no effect. */
export function saysNotExecuted({ answer, names }: Attempt): boolean {
  switch (answer) {
    case 'IN_FLIGHT':
    case 'KEY_TOO_OLD':
    case 'HANDLER_ERROR':
    case 'STORE_UNAVAILABLE':
      return true
    case 'RESULT':
      return names !== undefined && !saysExecuted(names) && names.charge < 0
    case 'none':
    case 'ABANDONED':
    case 'LEASE_LOST':
    case 'UNKNOWN':
      return false
  }
}

/** A stored error says nothing of an effect. One that came after a recorded charge must say that it does not know. */
export function saysExecuted({ kind }: Result): boolean {
  return kind !== 'error'
}

/** Answers an attempt with a result. */
export function answerWith(
  scene: Scene,
  next: State,
  { attempt, result }: { attempt: number; result: Result | undefined },
): void {
  end(scene, next, { attempt, answer: 'RESULT', names: result })
}

/** Answers an attempt with an error. */
export function refuse(scene: Scene, next: State, { attempt, answer }: { attempt: number; answer: Answer }): void {
  end(scene, next, { attempt, answer, names: undefined })
}

/** What is final for whoever sends again as often as it is any use. */
const FINAL: readonly Answer[] = ['RESULT', 'KEY_TOO_OLD', 'HANDLER_ERROR']

function end(
  scene: Scene,
  next: State,
  { attempt, answer, names }: { attempt: number; answer: Answer; names: Result | undefined },
): void {
  const again = scene.senderOf(attempt) === 'prober' && !FINAL.includes(answer)
  next.attempts[attempt] = again ? { ...FRESH } : { ...FRESH, place: 'ended', answer, names }
}
