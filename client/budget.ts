/** What retries of all mutations of a client are paid from, so that a server that is down is not sent many times more. */
export interface RetryBudget {
  /** Takes one retry, if there is one left. */
  spend(): boolean
}

/** As many retries as there can be at once come back within this time, one by one. */
const REFILL_MS = 60_000

/** A token bucket. @param most how many retries can be made in a burst */
export function retryBudget(most: number): RetryBudget {
  let left = most
  let at = performance.now()
  return {
    spend() {
      const now = performance.now()
      left = Math.min(most, left + ((now - at) * most) / REFILL_MS)
      at = now
      if (left < 1) return false
      left -= 1
      return true
    },
  }
}
