import { createHash } from 'node:crypto'
import { headerOf, type RequestHeaders } from './headers.js'

/**
 * The SHA-256 that a request says its bytes have, in Base64.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9530#name-the-content-digest-field
 */
export function readDigest(headers: RequestHeaders): string | undefined {
  const value = headerOf(headers, 'content-digest') ?? ''
  return /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):\s*(?:;[^,]*)?(?:,|$)/.exec(value)?.[1]
}

export interface DigestedStream {
  /** The bytes for the handler. It fails at its end where they were others than announced. */
  stream: ReadableStream<Uint8Array>
  /** Reads what the handler left, and tells whether all of it was as announced. */
  wasTrue(): Promise<boolean>
  isKnownToBeFalse(): boolean
}

/**
 * Checks a stream against its digest while it is read: the fingerprint was made of the digest, so other bytes would be
 * another operation. They are not kept, so that an upload may be larger than the memory.
 */
export function digestedStream(source: ReadableStream<Uint8Array>, digest: string): DigestedStream {
  const hash = createHash('sha256')
  const reader = source.getReader()
  let matched: boolean | undefined
  const read = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await reader.read()
    if (done) {
      matched ??= hash.digest('base64') === digest
      return undefined
    }
    hash.update(value)
    return value
  }
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await read()
        if (bytes !== undefined) controller.enqueue(bytes)
        else if (matched) controller.close()
        else controller.error(new Error('the bytes are others than Content-Digest announced'))
      },
      // A handler that has seen enough does not end the source: the rest has to be read for the digest.
    },
    { highWaterMark: 0 },
  )
  return {
    stream,
    async wasTrue() {
      try {
        while (matched === undefined) await read()
      } catch {
        return false // it broke off
      }
      return matched
    },
    isKnownToBeFalse: () => matched === false,
  }
}
