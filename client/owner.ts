/** Tells who is signed in, so that nobody's intent is sent as another's: the same string on every page, such as a user's id. */
export type OwnerOption = (() => string) | undefined

/** @throws TypeError where the option is no function */
export function checkOwner(owner: unknown, where: string): void {
  if (owner === undefined || typeof owner === 'function') return
  throw new TypeError(`${where}: owner must be a function that gives a string, got ${typeof owner}`)
}

/**
 * Whether an intent may be sent by whoever is signed in now. A forgotten owner matches none, not even another forgotten
 * one; without the option only intents without an owner match.
 */
export function isOwner(owner: OwnerOption, owned: unknown): boolean {
  if (owner === undefined) return owned === undefined
  const now: unknown = owner()
  return typeof now === 'string' && now !== '' && now === owned
}
