import fc from 'fast-check'
import { expect, test } from 'vitest'
import { delayMs } from '../../client/delay.js'

const policy = { maxAttempts: 10, attemptTimeoutMs: 1000, deadlineMs: 1000, baseDelayMs: 100, maxDelayMs: 1000 }

test('a delay lies between nothing and a bound that doubles with each attempt and ends at maxDelayMs', () => {
  const bounds = [100, 200, 400, 800, 1000, 1000]
  for (const [index, bound] of bounds.entries()) {
    const delays = Array.from({ length: 2000 }, () => delayMs(index + 1, policy))
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...delays)).toBeLessThanOrEqual(bound)
    // Full jitter: the whole of the range is used.
    expect(Math.min(...delays)).toBeLessThan(bound * 0.05)
    expect(Math.max(...delays)).toBeGreaterThan(bound * 0.95)
  }
})

test('no number of attempts makes it longer than the longest delay, and a named delay is kept up to it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.nat({ max: 100_000 }), (attempts, retryAfterMs) => {
      const delay = delayMs(attempts, policy, retryAfterMs)
      expect(delay).toBeGreaterThanOrEqual(Math.min(retryAfterMs, 1000))
      expect(delay).toBeLessThanOrEqual(Math.min(retryAfterMs, 1000) + 1000)
    }),
  )
})
