import { fingerprint } from '../engine/fingerprint.js'
import { checkKey } from '../engine/key.js'
import type { Fingerprint, Operation, Scope, ScopedKey } from '../engine/record.js'
import { checkScope } from '../engine/scope.js'
import type { Serializer } from '../engine/serializer.js'
import { IdempotencyError } from '../errors.js'
import { arrive } from './carriers.js'
import type { RequestHeaders } from './headers.js'
import { type ReadInput, readInput } from './readInput.js'

/** What is read of a call before anything runs. */
export interface IncomingCall {
  ctx: unknown
  path: string
  batchIndex: number
  getRawInput(): Promise<unknown>
}

export interface ReadCall {
  operation: Operation
  /** Which attempt of its client this is, counted from 1. */
  attempt: number
  input: ReadInput
}

export interface CallReader {
  scope(call: { ctx: unknown }): unknown
  /** The request's headers; left out where keys travel in the input alone. */
  headers?: ((call: { ctx: unknown }) => RequestHeaders | null | undefined) | undefined
  serializer: Serializer
  /** What a fingerprint is compared and stored as. */
  keyed(name: ScopedKey, fingerprint: Fingerprint): Fingerprint
}

/**
 * Finds out whose operation a call is, and which.
 *
 * @throws IdempotencyError KEY_MISSING, KEY_INVALID, DIGEST_INVALID, INPUT_INVALID or SCOPE_MISSING; the TRPCError that `scope` may
 *   throw; TypeError for a call that cannot be told from others, which only a caller in this process can make
 */
export async function readCall(call: IncomingCall, reader: CallReader): Promise<ReadCall> {
  const { path, batchIndex, getRawInput, ctx } = call
  // Server actions have no path of their own. All of them would be one procedure, and answer for each other.
  if (path === '') throw new TypeError('an idempotent server action needs a name: give its caller a pathExtractor')
  const headers = reader.headers?.({ ctx }) ?? undefined
  const arrived = await arrive({ getRawInput, batchIndex, headers })
  if (arrived.kind === 'missing') throw keyMissing(call)
  if (arrived.kind === 'invalid') throw keyInvalid(call, arrived.complaint)
  const { carried } = arrived
  const checked = checkKey(carried.key)
  if (!checked.ok) throw keyInvalid(call, checked.complaint)
  const input = await readInput(arrived.input, { serializer: reader.serializer, headers, path })
  if (input === undefined) throw digestMissing(call)
  const name: ScopedKey = { key: checked.key, birth: checked.birth, scope: await scopeOf(call, reader.scope) }
  const operation: Operation = {
    ...name,
    procedure: path,
    fingerprint: reader.keyed(name, fingerprint(path, input.canonical)),
  }
  return { operation, attempt: carried.attempt, input }
}

async function scopeOf(call: IncomingCall, scope: CallReader['scope']): Promise<Scope> {
  let given: unknown
  try {
    given = await scope({ ctx: call.ctx })
  } catch (cause) {
    // The application's own refusal says more than we could.
    if (cause instanceof Error && cause.name === 'TRPCError') throw cause
    throw scopeMissing(call, 'it threw (see the cause on the server)', cause)
  }
  const checked = checkScope(given)
  if (!checked.ok) throw scopeMissing(call, checked.complaint)
  return checked.scope
}

function keyMissing({ path }: IncomingCall): IdempotencyError {
  return new IdempotencyError(
    'KEY_MISSING',
    `${path}: this mutation needs an idempotency key. Let the client use idempotencyLink with this path in its option mutations; in the server's own process use withIdempotencyKey. Keys in the header Idempotency-Key are read where createIdempotency has the option headers.`,
  )
}

function keyInvalid({ path }: IncomingCall, complaint: string): IdempotencyError {
  return new IdempotencyError('KEY_INVALID', `${path}: ${complaint}. An idempotency key is a UUIDv7 in lower case.`)
}

function digestMissing({ path }: IncomingCall): IdempotencyError {
  return new IdempotencyError(
    'DIGEST_INVALID',
    `${path}: binary input needs the header Content-Digest with a sha-256, by which one upload is told from another. Let the client use idempotencyHeaders.`,
  )
}

function scopeMissing({ path }: IncomingCall, complaint: string, cause?: unknown): IdempotencyError {
  return new IdempotencyError(
    'SCOPE_MISSING',
    `${path}: the option scope names nobody whom the idempotency key could belong to: ${complaint}.`,
    { cause },
  )
}
