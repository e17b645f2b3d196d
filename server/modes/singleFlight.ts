import { sameFingerprint } from '../engine/fingerprint.js'
import type { Fingerprint, Operation, Outcome } from '../engine/record.js'
import { inFlight, refusal } from '../refusals.js'
import type { Wait } from './wait.js'

/** How a leader ended, as its followers may know it: with a committed outcome, or not. */
export type Landing = { settled: true; outcome: Outcome } | { settled: false }

interface Flight {
  readonly fingerprint: Fingerprint
  readonly landing: Promise<Landing>
}

export interface SingleFlight {
  /**
   * Runs `lead` for one attempt at a time. An attempt at the same operation waits for the one that runs and is given
   * its result; when that one fails, exactly one of those who waited runs next, and none inherits its error.
   *
   * @param landingOf what followers may know of the leader's end; asked only once it returned
   * @returns what `lead` returned, or the result of another attempt
   * @throws IdempotencyError KEY_REUSED where the running attempt is for something else; IN_FLIGHT when the wait is over
   */
  run<Led>(
    flight: { operation: Operation; wait: Wait; landingOf(led: Led): Landing },
    lead: () => Promise<Led>,
  ): Promise<{ led: true; value: Led } | { led: false; outcome: Outcome }>
}

/** Duplicates within one process need no connection to learn from each other. */
export function createSingleFlight(): SingleFlight {
  const flights = new Map<string, Flight>()
  return {
    async run({ operation, wait, landingOf }, lead) {
      // No key holds a line break.
      const name = `${operation.key}\n${operation.scope}`
      for (;;) {
        const flight = flights.get(name)
        if (flight === undefined) break
        if (!sameFingerprint(flight.fingerprint, operation.fingerprint)) throw refusal('KEY_REUSED', operation)
        const waited = await wait.until(flight.landing)
        if (!waited.inTime) throw inFlight(operation)
        if (waited.value.settled) return { led: false, outcome: waited.value.outcome }
      }
      // Between the look at the map and this line nothing else runs: two followers cannot both become the leader.
      let land!: (landing: Landing) => void
      const landing = new Promise<Landing>((resolve) => {
        land = resolve
      })
      flights.set(name, { fingerprint: operation.fingerprint, landing })
      let known: Landing = { settled: false }
      try {
        const value = await lead()
        known = landingOf(value)
        return { led: true, value }
      } finally {
        flights.delete(name)
        land(known)
      }
    },
  }
}
