/** Whether the client may send the same key again: by itself after a delay, only after a person acted, or never. */
export type SameKeyAgain = 'after a delay' | 'after an operator' | 'never'

/**
 * Every reason for which the server refuses or fails an idempotent call, and what it means for its key. All that the
 * client decides by; `reasons.ts` has the rest of the table, which a browser need not load.
 */
export const SAME_KEY_AGAIN = {
  KEY_MISSING: 'never',
  KEY_INVALID: 'never',
  KEY_FROM_FUTURE: 'never',
  KEY_REUSED: 'never',
  KEY_TOO_OLD: 'never',
  DIGEST_INVALID: 'never',
  SCOPE_MISSING: 'never',
  IN_FLIGHT: 'after a delay',
  LEASE_LOST: 'after a delay',
  STORE_UNAVAILABLE: 'after a delay',
  ABANDONED: 'after an operator',
  RESULT_NOT_STORABLE: 'never',
  RESULT_TOO_LARGE: 'never',
  TRANSACTION_ESCAPED: 'never',
  NESTED: 'never',
} as const satisfies Record<string, SameKeyAgain>

/** Why an idempotent call was refused or failed. */
export type Reason = keyof typeof SAME_KEY_AGAIN
