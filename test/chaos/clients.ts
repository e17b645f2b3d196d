import { v7 } from 'uuid'
import { chances } from '../../examples/support/chances.js'
import type { Calm } from './calm.js'
import { type Client, createClient } from './client.js'
import type { History } from './history.js'
import { type Fortune, pursue } from './pursue.js'
import { agedKey } from './sweeper.js'
import { type Wish, wishOf } from './wish.js'

/** How many send at the same time. */
const CLIENTS = 16
/** Enough to outlast most of what happens. One client in four gives up soon, and is told that it does not know. */
const ATTEMPTS = { usual: 12, few: 2 }

export interface ClientsSettings {
  url: string
  seed: number
  history: History
  calm: Calm
  signal: AbortSignal
  onAcknowledged(): void
}

/** What the clients' intents came to. */
export interface Fortunes {
  acknowledged: number
  /** Those of them of which nobody knew for a while whether they had been executed. */
  unknownResolved: number
  /** Sent once more after they had been answered. */
  sentAgain: number
  forgotten: number
  left: number
}

/** Lets clients send one intent after the other until calm comes, and then until the last outcome is known. */
export async function runClients({
  url,
  seed,
  history,
  calm,
  signal,
  onAcknowledged,
}: ClientsSettings): Promise<Fortunes> {
  const fortunes: Fortunes = { acknowledged: 0, unknownResolved: 0, sentAgain: 0, forgotten: 0, left: 0 }
  let number = 0

  const count = (wish: Wish, all: Fortune[]) => {
    const answered = all.find((one) => one.kind === 'acknowledged')
    if (answered !== undefined) {
      fortunes.acknowledged += 1
      onAcknowledged()
    }
    if (all.some((one) => one.kind === 'acknowledged' && one.wasUnknown)) fortunes.unknownResolved += 1
    if (all.some(({ kind }) => kind === 'unresolved')) history.unresolved.push(wish.number)
    if (all.every(({ kind }) => kind === 'forgotten')) fortunes.forgotten += 1
    if (all.every(({ kind }) => kind === 'left')) fortunes.left += 1
    return answered
  }

  async function serve([first, second]: readonly [Client, Client]): Promise<void> {
    const later: { atMs: number; wish: Wish; key: string }[] = []
    const sendAgain = async () => {
      const due = calm.isCalm() ? 0 : later.findIndex(({ atMs }) => atMs <= Date.now())
      const [entry] = due === -1 ? [] : later.splice(due, 1)
      if (entry === undefined) return false
      fortunes.sentAgain += 1
      const fortune = await pursue({ ...entry, client: second, name: 'later', calm, signal })
      if (fortune.kind === 'unresolved') history.unresolved.push(entry.wish.number)
      return true
    }

    for (;;) {
      signal.throwIfAborted()
      if (await sendAgain()) continue
      if (calm.isCalm()) return
      number += 1
      const wish = wishOf(seed, number)
      history.intents.push(wish)
      const key = keyFor(wish, seed)
      const clients = wish.raced
        ? ([
            ['first', first],
            ['second', second],
          ] as const)
        : ([['first', first]] as const)
      const all = await Promise.all(clients.map(([name, client]) => pursue({ client, wish, key, name, calm, signal })))
      const answered = count(wish, all)
      if (answered !== undefined && wish.againAfterMs > 0) {
        later.push({ atMs: Date.now() + wish.againAfterMs, wish, key: answered.key })
      }
    }
  }

  const pairs = Array.from({ length: CLIENTS }, (_, index) => {
    const attempts = index % 4 === 0 ? ATTEMPTS.few : ATTEMPTS.usual
    return [createClient(url, history, attempts), createClient(url, history, attempts)] as const
  })
  await Promise.all(pairs.map(serve))
  return fortunes
}

/** The key that an intent is given; most have none, and the link makes one. */
function keyFor({ number, aged, raced }: Wish, seed: number): string | undefined {
  const [chance] = chances(seed, `age of ${number}`)
  if (aged) return agedKey(chance)
  return raced ? v7() : undefined
}
