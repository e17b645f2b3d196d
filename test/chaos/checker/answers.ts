import { answersOf, type Case } from './case.js'

/** All answers to one intent are equal, a server gave each of them, and none names an effect that is not there. */
export function wrongAnswers(one: Case): string[] {
  const { effects, attempts, deliveries } = one
  const sentences: string[] = []
  const texts = new Set(answersOf(one))
  if (texts.size > 1) sentences.push(`it was answered in ${texts.size} ways`)
  const given = new Set(deliveries.flatMap(({ end }) => (end.kind === 'answer' ? [end.text] : [])))
  if (attempts.some(({ end }) => end.kind === 'answer' && !given.has(end.text))) {
    sentences.push('a client was given an answer that no server had given')
  }
  for (const text of texts) {
    const { id, chargeId } = JSON.parse(text) as { id?: number; chargeId?: string }
    if (!effects.some((effect) => effect.id === id && effect.chargeId === chargeId)) {
      sentences.push(`an answer names effect ${id}, which is not there`)
    }
  }
  return sentences
}
