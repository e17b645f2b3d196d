import type { REASONS, Reason } from './reasons.js'

type AfterDelay = {
  [R in Reason]: (typeof REASONS)[R]['sameKeyAgain'] extends 'after a delay' ? R : never
}[Reason]

/**
 * The reasons after which the same key is sent again: all that the link needs of the table, which a browser need not
 * load. One that is missing here, or too many, does not compile.
 */
export const AFTER_DELAY: { readonly [R in AfterDelay]: true } = {
  IN_FLIGHT: true,
  LEASE_LOST: true,
  STORE_UNAVAILABLE: true,
}
