import type { Case } from './case.js'

/** What happens to intents of any kind, when others hold their key or the database is away. */
const EXPECTED = new Set(['IN_FLIGHT', 'LEASE_LOST', 'STORE_UNAVAILABLE'])

/**
 * No intent is refused for what it is not: each has a key of its own, one input and a procedure that can be taken over.
 * KEY_TOO_OLD is for keys that are old.
 */
export function wrongRefusals({ intent, attempts, deliveries }: Case): string[] {
  const reasons = new Set(
    [...attempts, ...deliveries].flatMap(({ end }) =>
      end.kind === 'error' && end.reason !== undefined ? [end.reason] : [],
    ),
  )
  if (intent?.aged) reasons.delete('KEY_TOO_OLD')
  return [...reasons].filter((reason) => !EXPECTED.has(reason)).map((reason) => `it was refused with ${reason}`)
}
