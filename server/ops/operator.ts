import type { ScopedKey } from '../engine/record.js'
import { toStorable } from '../engine/result.js'
import type { Serializer } from '../engine/serializer.js'
import { IdempotencyError } from '../errors.js'
import type { LeaseStore } from '../store/leaseStore.js'
import { scopedKey } from './scopedKey.js'

type Store = Pick<LeaseStore<never>, 'read' | 'resolveAbandoned' | 'releaseAbandoned'>

/** Settles an abandoned or released operation with a result that an operator found out. */
export async function resolveOperation(
  of: { scope: string; key: string },
  { store, serializer, maxBytes, result }: { store: Store; serializer: Serializer; maxBytes: number; result: unknown },
): Promise<void> {
  const name = scopedKey('resolve', of)
  const storable = toStorable(result, serializer, maxBytes)
  if (!storable.ok) {
    throw new IdempotencyError(storable.reason, `resolve: the result ${storable.complaint}.`, { cause: storable.cause })
  }
  await change('resolve', { store, name }, () => store.resolveAbandoned(name, storable.result))
}

/** Gives an abandoned or released operation back to the next attempt. */
export async function releaseOperation(of: { scope: string; key: string }, store: Store): Promise<void> {
  const name = scopedKey('release', of)
  await change('release', { store, name }, () => store.releaseAbandoned(name))
}

async function change(
  word: string,
  { store, name }: { store: Store; name: ScopedKey },
  write: () => Promise<boolean>,
): Promise<void> {
  let status: string
  try {
    if (await write()) return
    status = (await store.read(name)).status
  } catch (cause) {
    throw new IdempotencyError('STORE_UNAVAILABLE', `${word}: the database failed (see the cause).`, {
      attemptOutcome: 'UNKNOWN',
      cause,
    })
  }
  const why = {
    absent: 'there is no such operation',
    settled: 'the operation is settled; its answer cannot be changed',
    'in flight': 'its lease is not over; wait for that, or end the process that holds it',
    released: 'another attempt was faster; ask for its status again',
  }
  throw new Error(`${word}: nothing was changed: ${why[status as keyof typeof why]}.`)
}
