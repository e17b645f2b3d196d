import type { End, Outcome } from './history.js'

interface Envelope {
  result?: { data: unknown }
  error?: ErrorShape
}

export interface ErrorShape {
  data?: { code?: string; httpStatus?: number; idempotency?: { reason?: string; attemptOutcome: Outcome } }
}

/** Reads what a server answered. */
export function endOf(body: string): End {
  let envelope: Envelope
  try {
    envelope = JSON.parse(body) as Envelope
  } catch {
    return { kind: 'nothing' }
  }
  if (envelope.result !== undefined) return { kind: 'answer', text: JSON.stringify(envelope.result.data) }
  return envelope.error === undefined ? { kind: 'nothing' } : errorEnd(envelope.error)
}

/** Reads an error as docs/wire.md has it: one without a word of idempotency did nothing where it is a refusal (4xx). */
export function errorEnd({ data }: ErrorShape): End {
  // A gateway's error, in the form of ours.
  if (data?.code === undefined) return { kind: 'nothing' }
  const { code, httpStatus = 500, idempotency } = data
  const isRefusal = httpStatus >= 400 && httpStatus < 500 && httpStatus !== 408 && httpStatus !== 499
  return {
    kind: 'error',
    code,
    reason: idempotency?.reason,
    attemptOutcome: idempotency?.attemptOutcome ?? (isRefusal ? 'NOT_EXECUTED' : 'UNKNOWN'),
  }
}
