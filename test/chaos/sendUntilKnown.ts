import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from './client.js'
import type { FaultSwitch } from './faultSwitch.js'
import type { PlannedIntent } from './plannedIntent.js'

/** What became of an intent, as far as its client can know. */
export type IntentEnd =
  /** Answered, and under this key. */
  | { kind: 'acknowledged'; key: string; wasUnknown: boolean }
  /** Left after a failure of which the link was sure that nothing was executed. */
  | { kind: 'left' }
  /** Its key was swept before anybody could be answered. */
  | { kind: 'forgotten' }
  /** Everything works again, and still nobody can say. */
  | { kind: 'unresolved' }

export interface IntentToSend {
  client: Client
  intent: PlannedIntent
  key: string | undefined
  /** Names the calls. */
  name: string
  faults: FaultSwitch
  signal: AbortSignal
}

/** Long enough for something else to have gone wrong meanwhile. */
const PAUSE_MS = 100
/** How often an intent is sent when everything works again, before it is called unresolved. */
const MOST_CALLS_WITHOUT_FAULTS = 20

/** Sends an intent by one call of the link after the other, with one key, until its outcome is known. */
export async function sendUntilKnown(sending: IntentToSend): Promise<IntentEnd> {
  const { client, intent, name, faults, signal } = sending
  let { key } = sending
  let wasUnknown = false
  let callsWithoutFaults = 0
  for (let call = 1; callsWithoutFaults < MOST_CALLS_WITHOUT_FAULTS; call += 1) {
    if (!faults.areOn()) callsWithoutFaults += 1
    const end = await client({ intent, name: `${name}.${call}`, key, signal })
    key = end.key
    if (end.reason === 'KEY_TOO_OLD') return { kind: 'forgotten' }
    if (end.outcome === 'EXECUTED') return { kind: 'acknowledged', key, wasUnknown }
    if (end.outcome === 'UNKNOWN') wasUnknown = true
    // What the link says is about this call; it knows nothing of one before.
    else if (intent.givesUp && !wasUnknown) return { kind: 'left' }
    await pause(PAUSE_MS, undefined, { signal })
  }
  return { kind: 'unresolved' }
}
