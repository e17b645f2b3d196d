import type { Carried } from '../../wire/carried.js'
import { unwrap } from '../../wire/envelope.js'
import { KEY_HEADER, readHeaderEntry } from '../../wire/header.js'
import { headerOf, type RequestHeaders } from './headers.js'
import { carriedBeside } from './originalInput.js'

/** What a call came with, whichever way the key travelled; or the end of a sentence that says why it has none. */
export type Arrived =
  | { kind: 'arrived'; carried: Carried; input: unknown }
  | { kind: 'missing' }
  | { kind: 'invalid'; complaint: string }

export interface Arriving {
  getRawInput(): Promise<unknown>
  /** The call's place in its batch. */
  batchIndex: number
  headers: RequestHeaders | undefined
}

/** Takes the key from inside the input, or from the request's header. In both, it has to be the same one. */
export async function arrive({ getRawInput, batchIndex, headers }: Arriving): Promise<Arrived> {
  const raw = await getRawInput()
  const unwrapped = unwrap(raw)
  if (unwrapped.kind === 'malformed') return { kind: 'invalid', complaint: 'The envelope of the input is malformed' }
  const inBand = unwrapped.kind === 'enveloped' ? unwrapped.carried : carriedBeside(getRawInput)
  const input = unwrapped.kind === 'enveloped' ? unwrapped.input : raw
  const header = headers === undefined ? undefined : headerOf(headers, KEY_HEADER)
  const entry = header === undefined ? undefined : readHeaderEntry(header, batchIndex)
  if (entry?.kind === 'malformed') return { kind: 'invalid', complaint: 'The header Idempotency-Key is malformed' }
  const inHeader = entry?.kind === 'carried' ? entry.carried : undefined
  if (inBand !== undefined && inHeader !== undefined && inBand.key !== inHeader.key) {
    return { kind: 'invalid', complaint: 'The header Idempotency-Key and the input name different keys' }
  }
  const carried = inBand ?? inHeader
  return carried === undefined ? { kind: 'missing' } : { kind: 'arrived', carried, input }
}
