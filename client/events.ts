/** What happens to an intent. */
export type IdempotencyEvent = {
  /** Path of the mutation. */
  path: string
  key: string
  /** How often it was sent so far. */
  attempt: number
} & (
  | { type: 'attempt' }
  /** It is sent again after `delayMs` milliseconds. */
  | { type: 'delay'; delayMs: number; error: Error }
  /** The browser is offline: it is sent when that is over. */
  | { type: 'offline' }
  | { type: 'success' }
  /** `idempotencyErrorOf(error)` has what is known. */
  | { type: 'give up'; error: Error }
)

/** Tells an observer. One that throws is reported, and changes nothing. */
export function tell<Event>(observer: ((event: Event) => void) | undefined, event: Event): void {
  try {
    observer?.(event)
  } catch (error) {
    console.error(error)
  }
}
