import { z } from 'zod'
import type { SealPeriod } from './store/seal.js'

/** A secret that all servers share: text or bytes, 32 bytes at least, as `openssl rand -base64 32` makes it. */
export type SealSecret = string | Uint8Array

/** From which birth on a secret seals: for a table that is in use already, and to replace a secret. */
export interface SealFrom {
  /** The first birth of a key, in milliseconds since 1970, as `Date.parse` gives it. */
  from: number
  /** `null`: from then on nothing is sealed. */
  secret: SealSecret | null
}

/** The bytes that the sealing's own keys have: a shorter secret would be easier to guess than they are. */
const LEAST_BYTES = 32

/** 2020. Nobody had UUIDv7 yet; who says an earlier birth has said it in seconds. */
const FIRST_BIRTH = 1_577_836_800_000

/** The option `seal`, as the periods that it stands for. Its complaints hold no secret. */
export const sealOption = z
  .custom<SealSecret | readonly SealFrom[]>()
  .optional()
  .transform((given, context): SealPeriod[] => {
    if (given === undefined) return []
    const periods = Array.isArray(given) ? given : [{ from: 0, secret: given }]
    const complaint = complaintOf(periods)
    if (complaint !== undefined) {
      context.addIssue({ code: 'custom', message: complaint, params: { secret: true } })
      return z.NEVER
    }
    return (periods as SealFrom[]).map(({ from, secret }) => ({
      from,
      secret: secret === null ? null : bytesOf(secret),
    }))
  })

/** The end of a sentence; `undefined` where there is none to complain. */
function complaintOf(periods: readonly unknown[]): string | undefined {
  if (periods.length === 0)
    return 'must be a secret, or a list of one { from, secret } at least; leave it out to seal nothing'
  const births = new Set<unknown>()
  for (const period of periods) {
    const { from, secret } = (period ?? {}) as { from?: unknown; secret?: unknown }
    if (from !== 0 && !(Number.isSafeInteger(from) && (from as number) >= FIRST_BIRTH)) {
      return `must say from which birth on, in milliseconds since 1970 as Date.parse gives them, got ${String(from)}`
    }
    if (births.has(from)) return `has two secrets from ${String(from)} on`
    births.add(from)
    if (secret === null) continue
    if (typeof secret !== 'string' && !(secret instanceof Uint8Array)) {
      return `must be a secret of text or bytes, or a list of { from, secret }, got a secret of type ${typeof secret}`
    }
    const { length } = bytesOf(secret)
    if (length < LEAST_BYTES) {
      return `must have a secret of at least ${LEAST_BYTES} bytes, got ${length}; openssl rand -base64 32 makes a good one`
    }
  }
  return undefined
}

function bytesOf(secret: SealSecret): Uint8Array {
  return typeof secret === 'string' ? new TextEncoder().encode(secret) : secret
}
