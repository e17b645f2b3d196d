import { at } from '../at.js'
import type { Step } from '../checker.js'
import type { Settings } from './configuration.js'
import type { Clause } from './plants.js'
import { copyOf, type Sender, type State } from './state.js'

/** A state, and what can happen in it. */
export interface Scene {
  readonly settings: Settings
  readonly state: State
  /** Whether the protocol keeps a clause: all, but one that was broken on purpose. */
  holds(clause: Clause): boolean
  /** Who sent a delivery. */
  senderOf(delivery: number): Sender
  /** Adds something that can happen. What it changes, it changes in a copy. */
  step(label: string, change: (next: State) => void): void
}

export interface Rules {
  settings: Settings
  brokenClause: Clause | undefined
}

/** @param steps where the scene puts what can happen */
export function sceneOf({ settings, brokenClause }: Rules, state: State, steps: Step<State>[]): Scene {
  return {
    settings,
    state,
    holds: (clause) => clause !== brokenClause,
    senderOf: (delivery) => at(settings.senders, delivery),
    step(label, change) {
      const next = copyOf(state)
      change(next)
      steps.push({ label, next })
    },
  }
}
