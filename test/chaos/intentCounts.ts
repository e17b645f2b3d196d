import type { IntentEnd } from './sendUntilKnown.js'

/** What all intents came to. */
export interface IntentCounts {
  acknowledged: number
  /** Those of them of which nobody knew for a while whether they had been executed. */
  unknownResolved: number
  /** Sent once more after they had been answered. */
  sentAgain: number
  forgotten: number
  left: number
}

/** Counts an intent, whose end each client that sent it saw by itself. */
export function countEnds(counts: IntentCounts, ends: readonly IntentEnd[]): void {
  if (ends.some(({ kind }) => kind === 'acknowledged')) counts.acknowledged += 1
  if (ends.some((end) => end.kind === 'acknowledged' && end.wasUnknown)) counts.unknownResolved += 1
  if (ends.every(({ kind }) => kind === 'forgotten')) counts.forgotten += 1
  if (ends.every(({ kind }) => kind === 'left')) counts.left += 1
}
