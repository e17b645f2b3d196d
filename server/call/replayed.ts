import { type GetRawInput, ofTheCall } from './originalInput.js'

/** Marks a call that was answered from what was stored. On its `getRawInput`, which no two calls share, unlike ctx. */
const REPLAYED = Symbol.for('trpc-idempotency.replayed')

export function markReplayed(getRawInput: GetRawInput): void {
  Object.defineProperty(ofTheCall(getRawInput), REPLAYED, { value: true, configurable: true })
}

export function wasReplayed(getRawInput: GetRawInput): boolean {
  return REPLAYED in getRawInput
}
