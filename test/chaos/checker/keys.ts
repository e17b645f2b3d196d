import type { Case } from './case.js'

/** One intent has one key, over all attempts and all calls. */
export function wrongKeys({ attempts, deliveries }: Case): string[] {
  const keys = new Set([...attempts, ...deliveries].map(({ key }) => key))
  return keys.size > 1 ? [`it was sent with ${keys.size} keys`] : []
}
