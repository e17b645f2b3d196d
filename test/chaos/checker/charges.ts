import { answersOf, type Case } from './case.js'

/**
 * Provider and database agree: each checkout that was settled has one charge, one recovery point of it and one payment
 * for it. One that never was, because its client left it or its key was swept, has been charged once at the most, and
 * what is recorded of it has been charged: it can have died between the charge and its record.
 */
export function wrongCharges(one: Case): string[] {
  const { intent, effects, charges, points } = one
  const sentences: string[] = []
  if (intent?.procedure !== 'checkout' && charges.length + points.length > 0) {
    sentences.push('there is a charge that nobody wanted')
  }
  if (charges.length > 1) sentences.push(`it was charged ${charges.length} times`)
  if (points.length > 1) sentences.push(`it has ${points.length} recovery points of a charge`)
  const charged = new Set(charges.map(({ id }) => id))
  if (points.some(({ chargeId }) => !charged.has(chargeId))) {
    sentences.push('it has a recovery point of a charge that was not made')
  }
  if (intent?.procedure !== 'checkout') return sentences
  const isSettled = effects.length > 0 || answersOf(one).length > 0
  if (isSettled && charges.length === 0) sentences.push('it was settled and not charged')
  if (isSettled && points.length === 0) sentences.push('it was settled and has no recovery point of its charge')
  if (effects.some(({ chargeId }) => chargeId === undefined || !charged.has(chargeId))) {
    sentences.push('it has a payment for a charge that was not made')
  }
  return sentences
}
