import type { Charge, Effect, Facts, Point } from '../facts.js'
import type { Attempt, Call, Delivery, History, Intent } from '../history.js'

/** Everything that is known of one intent: what was wanted, what was tried and told, and what there is. */
export interface Case {
  number: number
  /** `undefined` where there is something that nobody wanted. */
  intent: Intent | undefined
  attempts: Attempt[]
  deliveries: Delivery[]
  calls: Call[]
  effects: Effect[]
  charges: Charge[]
  points: Point[]
  unresolved: boolean
}

/** What belongs to no intent at all is kept under this number; those of intents begin at 1. */
const NOBODYS = 0

/** Sorts a history and what is there in the end by intents. */
export function casesOf(history: History, facts: Facts): Case[] {
  const cases = new Map<number, Case>()
  const caseOf = (number: number): Case => {
    const known = cases.get(number)
    if (known !== undefined) return known
    const empty = { attempts: [], deliveries: [], calls: [], effects: [], charges: [], points: [] }
    const made: Case = { number, intent: undefined, ...empty, unresolved: false }
    cases.set(number, made)
    return made
  }
  for (const intent of history.intents) caseOf(intent.number).intent = intent
  for (const attempt of history.attempts) caseOf(attempt.intent).attempts.push(attempt)
  for (const delivery of history.deliveries) caseOf(delivery.intent).deliveries.push(delivery)
  for (const call of history.calls) caseOf(call.intent).calls.push(call)
  for (const number of history.unresolved) caseOf(number).unresolved = true
  for (const effect of facts.effects) caseOf(effect.intent).effects.push(effect)
  for (const charge of facts.charges) caseOf(charge.intent).charges.push(charge)
  // A point knows its key, and the charge that it is of.
  const byKey = new Map([...history.attempts, ...history.deliveries].map(({ key, intent }) => [key, intent]))
  const byCharge = new Map(facts.charges.map(({ id, intent }) => [id, intent]))
  for (const point of facts.points) {
    caseOf(byKey.get(point.key) ?? byCharge.get(point.chargeId) ?? NOBODYS).points.push(point)
  }
  return [...cases.values()]
}

/** The texts of all answers to an intent: those that clients were given, and those that got lost on their way. */
export function answersOf({ attempts, deliveries }: Case): string[] {
  return [...attempts, ...deliveries].flatMap(({ end }) => (end.kind === 'answer' ? [end.text] : []))
}

/** Whether a client was told that the intent was executed. */
export function isAcknowledged({ attempts }: Case): boolean {
  return attempts.some(({ end }) => end.kind === 'answer')
}
