import { at } from '../at.js'
import type { Scene } from './scene.js'
import { type Answer, FRESH, NONE, type State } from './state.js'

/** Whether an answer says of its attempt that it has no effect. */
export function saysNotExecuted(answer: Answer): boolean {
  return answer !== 'none' && answer !== 'ANSWERED' && answer !== 'UNKNOWN'
}

/** Answers a delivery from the result of an execution. */
export function answerFrom(
  scene: Scene,
  next: State,
  { delivery, execution }: { delivery: number; execution: number },
): void {
  end(scene, next, { delivery, answer: 'ANSWERED', names: execution })
}

/** Answers a delivery with an error. Nothing but the row says that a COMMIT without an answer did not take effect. */
export function refuse(scene: Scene, next: State, { delivery, answer }: { delivery: number; answer: Answer }): void {
  const { doubt } = at(next.deliveries, delivery)
  const inDoubt = doubt && scene.holds('a COMMIT without an answer leaves the outcome unknown')
  end(scene, next, { delivery, answer: inDoubt ? 'UNKNOWN' : answer, names: NONE })
}

function end(
  scene: Scene,
  next: State,
  { delivery, answer, names }: { delivery: number; answer: Answer; names: number },
): void {
  // The prober never gives up: whatever may be sent again, it sends again.
  const again = scene.senderOf(delivery) === 'prober' && answer !== 'ANSWERED' && answer !== 'KEY_TOO_OLD'
  next.deliveries[delivery] = again ? { ...FRESH } : { ...FRESH, place: 'ended', answer, names }
}
