import type { Facts } from '../facts.js'
import type { Disaster, History } from '../history.js'
import { wrongAnswers } from './answers.js'
import { type Case, casesOf } from './case.js'
import { wrongCharges } from './charges.js'
import { wrongClaims } from './claims.js'
import { wrongEffects } from './effects.js'
import { wrongKeys } from './keys.js'
import { minimalHistory } from './minimalHistory.js'
import { wrongRefusals } from './refusals.js'

/** A promise that does not hold for one intent. */
export interface Violation {
  rule: string
  intent: number
  sentence: string
  /** What happened to this intent and around it, and nothing else: a line for each event, in order of time. */
  history: string[]
}

/** What is wrong with one intent, as sentences, for each rule. */
const RULES: Record<string, (one: Case) => string[]> = {
  effects: wrongEffects,
  answers: wrongAnswers,
  charges: wrongCharges,
  claims: wrongClaims,
  refusals: wrongRefusals,
  keys: wrongKeys,
  resolution: ({ unresolved }) => (unresolved ? ['its outcome stayed unknown after everything worked again'] : []),
}

/** Holds a history, and what there is in the end, against what is promised. */
export function check(history: History, facts: Facts): Violation[] {
  return casesOf(history, facts).flatMap((one) => violationsOf(one, history.disasters))
}

function violationsOf(one: Case, disasters: readonly Disaster[]): Violation[] {
  const found = Object.entries(RULES).flatMap(([rule, wrong]) => wrong(one).map((sentence) => ({ rule, sentence })))
  if (found.length === 0) return []
  const history = minimalHistory(one, disasters)
  return found.map((violation) => ({ ...violation, intent: one.number, history }))
}
