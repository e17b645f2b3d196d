import { answersOf, type Case } from './case.js'

/** Every acknowledged intent has exactly one effect, no intent has two, and there is none that nobody wanted. */
export function wrongEffects(one: Case): string[] {
  const { intent, effects } = one
  if (intent === undefined) return effects.length === 0 ? [] : ['there is an effect that nobody wanted']
  const sentences: string[] = []
  // An answer that got lost is an acknowledgement too: the server had given its word.
  if (effects.length === 0 && answersOf(one).length > 0) sentences.push('it was acknowledged and has no effect')
  if (effects.length > 1) sentences.push(`it has ${effects.length} effects`)
  const table = intent.procedure === 'checkout' ? 'payments' : 'orders'
  if (effects.some((effect) => effect.table !== table || effect.customer !== intent.customer)) {
    sentences.push('it has an effect of another procedure or for another customer')
  }
  return sentences
}
