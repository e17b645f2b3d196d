import { setTimeout as pause } from 'node:timers/promises'
import type { Calm } from './calm.js'
import type { Client } from './client.js'
import type { Wish } from './wish.js'

/** What became of an intent, as far as its client can know. */
export type Fortune =
  /** Answered, and under this key. */
  | { kind: 'acknowledged'; key: string; wasUnknown: boolean }
  /** Left after a failure of which the link was sure that nothing was executed. */
  | { kind: 'left' }
  /** Its key was swept before anybody could be answered. */
  | { kind: 'forgotten' }
  /** Everything works again, and still nobody can say. */
  | { kind: 'unresolved' }

export interface Pursuit {
  client: Client
  wish: Wish
  key: string | undefined
  /** Names the calls. */
  name: string
  calm: Calm
  signal: AbortSignal
}

/** Long enough for something else to have gone wrong meanwhile. */
const PAUSE_MS = 100
/** How often an intent is sent once things work again, before it is called unresolved. */
const MOST_CALLS_IN_CALM = 20

/** Sends an intent by one call after the other, with one key, until its outcome is known. */
export async function pursue({ client, wish, key, name, calm, signal }: Pursuit): Promise<Fortune> {
  let known = key
  let wasUnknown = false
  let callsInCalm = 0
  for (let call = 1; ; call += 1) {
    if (calm.isCalm()) callsInCalm += 1
    const end = await client({ wish, name: `${name}.${call}`, key: known, signal })
    known = end.key
    if (end.reason === 'KEY_TOO_OLD') return { kind: 'forgotten' }
    switch (end.outcome) {
      case 'EXECUTED':
        return { kind: 'acknowledged', key: end.key, wasUnknown }
      case 'NOT_EXECUTED':
        // What the link says holds for this call. An earlier one may know less.
        if (wish.givesUp && !wasUnknown) return { kind: 'left' }
        break
      case 'UNKNOWN':
        wasUnknown = true
    }
    if (callsInCalm >= MOST_CALLS_IN_CALM) return { kind: 'unresolved' }
    await pause(PAUSE_MS)
  }
}
