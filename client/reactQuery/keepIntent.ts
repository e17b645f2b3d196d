import type { Mutation, MutationMeta } from '@tanstack/react-query'
import { tell } from '../events.js'
import { failed, idempotencyErrorOf } from '../failure.js'
import type { KeySource } from '../keySource.js'
import { isOwner, type OwnerOption } from '../owner.js'
import { runIntent } from '../runIntent.js'
import { replaceOption } from './replaceOption.js'

export interface Binding {
  owner: OwnerOption
  onOtherOwner: ((mutation: Mutation) => void) | undefined
  keys: KeySource
  /** In development: looks at what is retried. */
  watch: ((error: unknown) => void) | undefined
}

type Options = Mutation['options']
type MutationFunction = NonNullable<Options['mutationFn']>

/** On the mutation, and registered: it is kept by the binding that saw it first. */
const KEPT = Symbol.for('trpc-idempotency.kept')

/** Makes one mutation of the cache one intent: whatever becomes of it, it is sent with one key, and as one owner. */
export function keepIntent(
  mutation: Mutation & { [KEPT]?: boolean },
  { owner, onOtherOwner, keys, watch }: Binding,
): void {
  if (mutation[KEPT] === true) return
  mutation[KEPT] = true
  const hydrated = mutation.state.status !== 'idle'
  // Not from the meta of a new mutation: it is that of the hook, or of another mutation, and two intents would share a key.
  const kept = hydrated ? (readKept(mutation.meta) ?? { key: keys.mint() }) : { key: keys.mint(), owner: owner?.() }
  let sent = hydrated
  let taken: readonly string[] = []

  const isOurs = () => isOwner(owner, kept.owner)

  const send =
    (mutationFn: MutationFunction): MutationFunction =>
    async (...given) => {
      if (!isOurs()) throw notOurs(kept.key, sent)
      sent = true
      const run = runIntent(kept.key, () => mutationFn(...given), isOurs)
      taken = run.keys
      run.answer.catch(keys.learn)
      return run.answer
    }

  // The key of a failed mutation that is none of ours was lost on its way: with the next one it may be executed again.
  const mayRepeat = (error: Error) => {
    const failure = idempotencyErrorOf(error)
    return isOurs() && (failure === undefined || failure.outcome === 'NOT_EXECUTED' || taken.includes(failure.key))
  }

  const keep = (options: Options): Options => ({
    ...options,
    meta: { ...options.meta, idempotency: kept },
    retry: replaceOption(options.retry, (retry) => (failureCount: number, error: Error) => {
      const again = mayRepeat(error) && wants(retry, failureCount, error)
      if (again) watch?.(error)
      return again
    }),
    ...(options.mutationFn !== undefined && { mutationFn: replaceOption(options.mutationFn, send) }),
  })

  const onlyIfOurs =
    <Given extends unknown[], Answer>(run: (...given: Given) => Promise<Answer>) =>
    (...given: Given): Promise<Answer> => {
      // A new one goes on to fail by itself, so that it shows its error.
      if (mutation.state.status === 'idle' || isOurs()) return run(...given)
      const refusal = Promise.reject(notOurs(kept.key, sent))
      // TanStack Query continues the next mutation of a scope without looking at the promise.
      refusal.catch(() => undefined)
      tell(onOtherOwner, mutation)
      return refusal
    }

  const setOptions = mutation.setOptions.bind(mutation)
  // A render gives a pending mutation new options.
  mutation.setOptions = (options) => setOptions(keep(options))
  mutation.setOptions(mutation.options)
  // Stopped here and not in the function, so that it stays what it is: paused, and dehydrated with the others.
  mutation.continue = onlyIfOurs(mutation.continue.bind(mutation))
  mutation.execute = onlyIfOurs(mutation.execute.bind(mutation))
}

/** What a mutation keeps as `meta.idempotency`, and is dehydrated and hydrated with. */
interface Kept {
  key: string
  owner?: string | undefined
}

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

/** Whatever persisted it may have changed it. */
function readKept(meta: MutationMeta | undefined): Kept | undefined {
  const { key, owner } = (meta?.['idempotency'] ?? {}) as { key?: unknown; owner?: unknown }
  if (typeof key !== 'string' || !UUID_V7.test(key)) return undefined
  return typeof owner === 'string' ? { key, owner } : { key }
}

/** What the option `retry` says; for a mutation that lacks it TanStack Query takes none. */
function wants(retry: Options['retry'], failureCount: number, error: Error): boolean {
  if (typeof retry === 'function') return retry(failureCount, error)
  return retry === true || (typeof retry === 'number' && failureCount < retry)
}

function notOurs(key: string, sent: boolean): Error {
  const known = sent ? 'It may have been executed; its owner finds out by resuming it.' : 'It was never sent.'
  return failed(
    new Error(`This mutation is not sent, because another owner made it than the one that is signed in. ${known}`),
    { key, minted: false, attempts: 0, outcomeUnknown: sent },
    { attemptOutcome: 'NOT_EXECUTED', said: undefined },
  )
}
