import type { Reason } from './reasons.js'

/** What an error says about the effect of the attempt that it answers. */
export type AttemptOutcome = 'EXECUTED' | 'NOT_EXECUTED' | 'UNKNOWN'

/** What an error of an idempotent procedure carries as `shape.data.idempotency`, on every transport. */
export interface IdempotencyErrorData {
  /**
   * Left out for an error of the handler, whose attempt nevertheless left something behind. A newer server may have
   * reasons that are not in the table: such an error is final.
   */
  reason?: Reason
  attemptOutcome: AttemptOutcome
  /** Milliseconds after which the same key may be sent again, where the server knows. */
  retryAfterMs?: number
  /** The database's clock, in milliseconds since 1970, where a key was refused for its age. */
  serverTimeMs?: number
  /** The error is what is stored of the operation: every attempt is told it, and none will execute anything. */
  final?: true
}

/** Reads what the server said from the `data` of an error's shape; `undefined` where it said nothing that we know. */
export function readErrorData(data: unknown): IdempotencyErrorData | undefined {
  // It came over the network: whatever stands there, its properties can be asked for.
  const said = (data as { idempotency?: Partial<Record<keyof IdempotencyErrorData, unknown>> } | null | undefined)
    ?.idempotency
  const attemptOutcome = said?.attemptOutcome
  if (attemptOutcome !== 'EXECUTED' && attemptOutcome !== 'NOT_EXECUTED' && attemptOutcome !== 'UNKNOWN')
    return undefined
  const read: IdempotencyErrorData = { attemptOutcome }
  if (typeof said?.reason === 'string') read.reason = said.reason as Reason
  if (said?.final === true) read.final = true
  for (const name of ['retryAfterMs', 'serverTimeMs'] as const) {
    const ms = said?.[name]
    // No larger than a time that a UUIDv7 can hold.
    if (typeof ms === 'number' && ms >= 0 && ms < 2 ** 48) read[name] = ms
  }
  return read
}
