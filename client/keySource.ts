import { idempotencyErrorOf } from './failure.js'
import { mintKey } from './mint.js'

export interface KeySource {
  mint(): string
  /** Learns from a failure what time it is by the server's clock, where it says so. */
  learn(error: unknown): void
}

/**
 * Makes keys for intents that outlive one call. A key that was refused because of the client's clock stays refused: an
 * intent is never renamed. The next intent has the right time.
 */
export function createKeySource(): KeySource {
  let clockIsBehindMs = 0
  return {
    mint: () => mintKey(Date.now() + clockIsBehindMs),
    learn(error) {
      const serverTimeMs = idempotencyErrorOf(error)?.serverTimeMs
      if (serverTimeMs !== undefined) clockIsBehindMs = Math.round(serverTimeMs) - Date.now()
    },
  }
}
