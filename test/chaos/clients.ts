import { v7 } from 'uuid'
import { chances } from '../../examples/support/chances.js'
import { type Client, createClient } from './client.js'
import type { FaultSwitch } from './faultSwitch.js'
import type { History } from './history.js'
import { countEnds, type IntentCounts } from './intentCounts.js'
import { type PlannedIntent, planIntent } from './plannedIntent.js'
import { type IntentEnd, sendUntilKnown } from './sendUntilKnown.js'
import { agedKey } from './sweeper.js'

/** How many send at the same time. */
const CLIENTS = 16
/** Enough to outlast most of what happens. One client in four gives up soon, and is told that it does not know. */
const ATTEMPTS = { usual: 12, few: 2 }

export interface ClientsSettings {
  url: string
  seed: number
  history: History
  faults: FaultSwitch
  signal: AbortSignal
}

/** An intent that was answered and is sent once more. */
interface LaterIntent {
  atMs: number
  intent: PlannedIntent
  key: string
}

/** Lets clients send one intent after the other while there are faults, and then until the last outcome is known. */
export async function runClients({ url, seed, history, faults, signal }: ClientsSettings): Promise<IntentCounts> {
  const counts: IntentCounts = { acknowledged: 0, unknownResolved: 0, sentAgain: 0, forgotten: 0, left: 0 }
  let number = 0

  const send = async (client: Client, what: { intent: PlannedIntent; key: string | undefined; name: string }) => {
    const end = await sendUntilKnown({ ...what, client, faults, signal })
    if (end.kind === 'unresolved') history.unresolved.push(what.intent.number)
    return end
  }

  const sendNew = async ([first, second]: ClientPair): Promise<LaterIntent | undefined> => {
    number += 1
    const intent = planIntent(seed, number)
    history.intents.push(intent)
    const key = keyFor(intent, seed)
    const sending: Promise<IntentEnd>[] = [send(first, { intent, key, name: 'first' })]
    if (intent.raced) sending.push(send(second, { intent, key, name: 'second' }))
    const ends = await Promise.all(sending)
    countEnds(counts, ends)
    const answered = ends.find((end) => end.kind === 'acknowledged')
    if (answered === undefined || intent.againAfterMs === 0) return undefined
    return { atMs: Date.now() + intent.againAfterMs, intent, key: answered.key }
  }

  const sendInTurn = async (pair: ClientPair): Promise<void> => {
    const later: LaterIntent[] = []
    while (faults.areOn() || later.length > 0) {
      const due = faults.areOn() ? later.findIndex(({ atMs }) => atMs <= Date.now()) : 0
      const [again] = due === -1 ? [] : later.splice(due, 1)
      if (again !== undefined) {
        counts.sentAgain += 1
        await send(pair[1], { ...again, name: 'later' })
        continue
      }
      const sent = await sendNew(pair)
      if (sent !== undefined) later.push(sent)
    }
  }

  const pairs = Array.from({ length: CLIENTS }, (_, index): ClientPair => {
    const attempts = index % 4 === 0 ? ATTEMPTS.few : ATTEMPTS.usual
    return [createClient(url, history, attempts), createClient(url, history, attempts)]
  })
  await Promise.all(pairs.map(sendInTurn))
  return counts
}

/** A client, and another of the same customer: it races the first, and sends what that has sent before. */
type ClientPair = readonly [Client, Client]

/** The key that an intent is given; most have none, and the link makes one. */
function keyFor({ number, aged, raced }: PlannedIntent, seed: number): string | undefined {
  const [chance] = chances(seed, `age of ${number}`)
  if (aged) return agedKey(chance)
  return raced ? v7() : undefined
}
