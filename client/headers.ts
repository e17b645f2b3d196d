import { type HTTPHeaders, isOctetType, type Operation } from '@trpc/client'
import { headerEntry, KEY_HEADER } from '../wire/header.js'
import { HEADER_CARRIED, type HeaderCarried, type HeaderState } from './carrier.js'

/** What an ending link tells its `headers` of: one operation, or those of a batch. */
export type HeaderRequest = { op: Operation } | { opList: readonly Operation[] }

/**
 * Node.js refuses requests whose address and headers have more than 16 KiB together, and what it answers is no tRPC
 * answer, so the caller would never learn why. A key has 39 bytes in the header, and its path stands in the address: 15 KB
 * are some 300 calls, and leave the rest to cookies.
 */
const MOST_BYTES = 15_000

/**
 * The `headers` of `httpLink`, `httpBatchLink` and `httpBatchStreamLink`, where keys travel in the header
 * `Idempotency-Key`: those that you give, and the keys. For binary input it adds `Content-Digest`, by which the server
 * tells one upload from another.
 *
 * @throws TypeError, before anything is sent, where a batch has too many keys for a header
 */
export function idempotencyHeaders<Request extends HeaderRequest>(
  headers: HTTPHeaders | ((request: Request) => HTTPHeaders | Promise<HTTPHeaders>) = {},
): (request: Request) => Promise<HTTPHeaders> {
  return async (request) => {
    const ops: readonly Operation[] = 'opList' in request ? request.opList : [request.op]
    const calls = ops.map(({ context }) => (context as { [HEADER_CARRIED]?: HeaderCarried })[HEADER_CARRIED])
    const mark = (state: HeaderState) => {
      for (const call of calls) if (call !== undefined) call.state = state
    }
    // Before anything is waited for: from here on the request goes out with its keys, or not at all.
    mark('sent')
    try {
      const given = typeof headers === 'function' ? await headers(request) : headers
      if (calls.every((call) => call === undefined)) return given
      return {
        ...(Symbol.iterator in given ? Object.fromEntries(given) : given),
        ...(await digestOf(ops[0]?.input)),
        [KEY_HEADER]: keysOf(ops, calls),
      }
    } catch (error) {
      mark('refused')
      throw error
    }
  }
}

/** The keys by the calls' places in the batch. */
function keysOf(ops: readonly Operation[], calls: (HeaderCarried | undefined)[]): string {
  const value = calls.map((call) => (call === undefined ? '""' : headerEntry(call))).join(',')
  if (value.length + ops.map(({ path }) => path).join().length <= MOST_BYTES) return value
  throw new TypeError(
    `idempotencyHeaders: ${calls.length} calls in one request have more keys than a header can hold. Give the batch link maxItems: 100, or let keys travel in the input.`,
  )
}

async function digestOf(input: unknown): Promise<{ 'content-digest'?: string }> {
  if (!isOctetType(input)) return {}
  if (globalThis.crypto?.subtle === undefined) {
    throw new TypeError(
      'idempotencyHeaders: binary input needs crypto.subtle, which browsers give to https pages alone',
    )
  }
  const bytes = await new Response(input as BodyInit).arrayBuffer()
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return { 'content-digest': `sha-256=:${btoa(String.fromCharCode(...digest))}:` }
}
