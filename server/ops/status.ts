import type { Lookup, Tombstone } from '../engine/record.js'
import type { Serializer } from '../engine/serializer.js'
import { IdempotencyError } from '../errors.js'
import { readErrorShape, readResult } from '../readStored.js'
import { refusal } from '../refusals.js'
import type { KeyStore } from '../store/keyStore.js'
import { scopedKey } from './scopedKey.js'

/** What the table knows of an operation. */
export type OperationStatus =
  /** Nothing. An attempt may still be running, or be on its way: only sending the same key again decides. */
  | { status: 'absent' }
  /** An attempt in lease mode holds it, or held it and ended without a word. */
  | { status: 'in flight' }
  /** An attempt in lease mode failed; the next one goes on. */
  | { status: 'released' }
  | { status: 'settled'; as: 'value'; result: unknown }
  /** It failed for good: the shape of the error, as it went over the wire. */
  | { status: 'settled'; as: 'error'; shape: unknown }
  /** It was executed, and its result could not be stored or was erased; `OUTCOME_ERASED`: perhaps it was. */
  | { status: 'settled'; as: 'tombstone'; reason: Tombstone }

/**
 * Reads what the table knows of an operation.
 *
 * @throws IdempotencyError KEY_INVALID, SCOPE_MISSING, RESULT_NOT_READABLE or STORE_UNAVAILABLE
 */
export async function statusOf(
  of: { scope: string; key: string },
  { store, serializer }: { store: Pick<KeyStore<unknown>, 'read'>; serializer: Serializer },
): Promise<OperationStatus> {
  const name = scopedKey('status', of)
  let found: Lookup
  try {
    found = await store.read(name)
  } catch (cause) {
    throw new IdempotencyError('STORE_UNAVAILABLE', 'status: the database failed (see the cause).', { cause })
  }
  if (found.status !== 'settled') return { status: found.status }
  const { outcome } = found
  const procedure = 'status'
  switch (outcome.kind) {
    case 'value':
      return { status: 'settled', as: 'value', result: readResult(outcome.result, { procedure, serializer }) }
    case 'error':
      return { status: 'settled', as: 'error', shape: readErrorShape(outcome.shape, { procedure }) }
    case 'tombstone':
      return { status: 'settled', as: 'tombstone', reason: outcome.reason }
    case 'unreadable':
      throw refusal('RESULT_NOT_READABLE', { procedure })
  }
}
