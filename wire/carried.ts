/** What accompanies an input: the idempotency key and which attempt at it this is, counted from 1. */
export interface Carried {
  key: string
  attempt: number
}

/** Whether something is the number of an attempt. */
export function isAttempt(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
}
