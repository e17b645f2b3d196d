import { expect, test } from 'vitest'
import type { Sent } from './client.js'
import { createFaultSwitch } from './faultSwitch.js'
import type { Call, Outcome } from './history.js'
import { countEnds, type IntentCounts } from './intentCounts.js'
import { planIntent } from './plannedIntent.js'
import { type IntentEnd, sendUntilKnown } from './sendUntilKnown.js'

type Word = Outcome | 'KEY_TOO_OLD'

/** Sends an intent to a client whose calls end as is written; the last of them again and again. */
async function send(words: Word[], { givesUp = false, faultsAreOn = true } = {}) {
  const faults = createFaultSwitch()
  if (!faultsAreOn) faults.off()
  const sent: Pick<Sent, 'name' | 'key'>[] = []
  const client = async ({ intent, name, key }: Sent): Promise<Call> => {
    sent.push({ name, key })
    const word = words.length > 1 ? words.shift() : words[0]
    const tooOld = word === 'KEY_TOO_OLD'
    const outcome = word === undefined || tooOld ? 'UNKNOWN' : word
    const reason = tooOld ? word : undefined
    return { kind: 'call', intent: intent.number, key: 'made by the link', call: name, endMs: 0, outcome, reason }
  }
  const intent = { ...planIntent(1, 1), givesUp }
  const { signal } = new AbortController()
  const end = await sendUntilKnown({ client, intent, key: undefined, name: 'first', faults, signal })
  return { end, sent }
}

test('an intent whose outcome is unknown is sent again with the key of its first call, until it is answered', async () => {
  const { end, sent } = await send(['UNKNOWN', 'NOT_EXECUTED', 'EXECUTED'], { givesUp: true })
  expect(end).toEqual({ kind: 'acknowledged', key: 'made by the link', wasUnknown: true })
  expect(sent).toEqual([
    { name: 'first.1', key: undefined },
    { name: 'first.2', key: 'made by the link' },
    { name: 'first.3', key: 'made by the link' },
  ])
})

test('an intent is left only where its client gives up and nothing was ever unknown', async () => {
  expect((await send(['NOT_EXECUTED', 'EXECUTED'], { givesUp: true })).end).toEqual({ kind: 'left' })
  expect((await send(['NOT_EXECUTED', 'EXECUTED'])).end).toMatchObject({ kind: 'acknowledged', wasUnknown: false })
  expect((await send(['UNKNOWN', 'KEY_TOO_OLD'])).end).toEqual({ kind: 'forgotten' })
})

test('an intent that stays unknown although nothing goes wrong any more is called unresolved', async () => {
  const { end, sent } = await send(['UNKNOWN'], { faultsAreOn: false })
  expect(end).toEqual({ kind: 'unresolved' })
  expect(sent).toHaveLength(20)
})

test('an intent that two clients sent counts once', () => {
  const counts: IntentCounts = { acknowledged: 0, unknownResolved: 0, sentAgain: 0, forgotten: 0, left: 0 }
  const known: IntentEnd = { kind: 'acknowledged', key: 'k', wasUnknown: false }
  countEnds(counts, [known, { ...known, wasUnknown: true }])
  countEnds(counts, [{ kind: 'left' }, known])
  countEnds(counts, [{ kind: 'left' }])
  countEnds(counts, [{ kind: 'forgotten' }, { kind: 'forgotten' }])
  expect(counts).toEqual({ acknowledged: 2, unknownResolved: 1, sentAgain: 0, forgotten: 1, left: 1 })
})
