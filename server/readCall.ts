import { unwrap } from '../wire/envelope.js'
import { canonicalText, fingerprint } from './engine/fingerprint.js'
import { checkKey } from './engine/key.js'
import type { Operation, Scope } from './engine/record.js'
import { checkScope } from './engine/scope.js'
import { fromText, type Serializer } from './engine/serializer.js'
import { findTransient } from './engine/transient.js'
import { IdempotencyError } from './errors.js'

/** What is read of a call before anything runs. */
export interface IncomingCall {
  ctx: unknown
  path: string
  getRawInput(): Promise<unknown>
}

export interface ReadCall {
  operation: Operation
  /** Which attempt of its client this is, counted from 1. */
  attempt: number
  /** The input as the caller gave it. */
  input: unknown
  /** The same for a handler that is run again: a copy of what it was, where the run before changed it. */
  inputAgain(): unknown
}

export interface CallReader {
  scope(call: { ctx: unknown }): unknown
  serializer: Serializer
}

/**
 * Finds out whose operation a call is, and which.
 *
 * @throws IdempotencyError KEY_MISSING, KEY_INVALID or SCOPE_MISSING; the TRPCError that `scope` may throw; TypeError for
 *   an input that cannot be told from others, which only a caller in this process can give
 */
export async function readCall(call: IncomingCall, { scope, serializer }: CallReader): Promise<ReadCall> {
  const unwrapped = unwrap(await call.getRawInput())
  if (unwrapped.kind === 'bare') throw keyMissing(call)
  if (unwrapped.kind === 'malformed') throw keyInvalid(call, 'The envelope of the input is malformed')
  const { carried, input } = unwrapped
  const checked = checkKey(carried.key)
  if (!checked.ok) throw keyInvalid(call, checked.complaint)
  const text = textOf(call, input, serializer)
  const operation: Operation = {
    key: checked.key,
    birth: checked.birth,
    scope: await scopeOf(call, scope),
    procedure: call.path,
    fingerprint: fingerprint(call.path, text),
  }
  return {
    operation,
    attempt: carried.attempt,
    input,
    inputAgain: () => (textOf(call, input, serializer) === text ? input : fromText(text, serializer)),
  }
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

function textOf({ path }: IncomingCall, input: unknown, serializer: Serializer): string | null {
  const transient = findTransient(input)
  if (transient !== undefined) throw new TypeError(`${path}: the input holds ${transient}, which has no fingerprint`)
  try {
    return canonicalText(input, serializer)
  } catch (cause) {
    throw new TypeError(`${path}: the serializer refused the input, so it has no fingerprint`, { cause })
  }
}

function keyMissing({ path }: IncomingCall): IdempotencyError {
  return new IdempotencyError(
    'KEY_MISSING',
    `${path}: this mutation needs an idempotency key. Let the client use idempotencyLink with this path in its option mutations; in the server's own process use withIdempotencyKey.`,
  )
}

function keyInvalid({ path }: IncomingCall, complaint: string): IdempotencyError {
  return new IdempotencyError('KEY_INVALID', `${path}: ${complaint}. An idempotency key is a UUIDv7 in lower case.`)
}

function scopeMissing({ path }: IncomingCall, complaint: string, cause?: unknown): IdempotencyError {
  return new IdempotencyError(
    'SCOPE_MISSING',
    `${path}: the option scope names nobody whom the idempotency key could belong to: ${complaint}.`,
    { cause },
  )
}
