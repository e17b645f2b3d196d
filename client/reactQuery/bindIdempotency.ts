import type { Mutation, QueryClient } from '@tanstack/react-query'
import { createKeySource } from '../keySource.js'
import { checkOwner, type OwnerOption } from '../owner.js'
import { keepIntent } from './keepIntent.js'
import { twoRetriersWarning } from './twoRetriers.js'

/** Bundlers put a value in its place, and leave out what only development needs. Query and React rely on the same. */
declare const process: { env: { NODE_ENV?: string } }

export interface BindOptions {
  /**
   * Who is signed in, such as the user's id. Mutations remember it, over a reload too, and are sent only as long as it
   * answers the same.
   */
  owner?: OwnerOption
  /** Called for each mutation that was to be resumed and stays as it is, because it is somebody else's. It may remove it. */
  onOtherOwner?: (mutation: Mutation) => void
}

/** On the cache, and registered: another copy of this package has to find it. */
const BOUND = Symbol.for('trpc-idempotency.bound')

/**
 * Gives every `mutate()` one key, which it keeps over its retries, pauses, re-renders, dehydration and hydration. Bind
 * once, before anything is hydrated, and put `idempotencyLink` before any link that waits.
 *
 * @returns what ends it for later mutations
 * @throws TypeError where the client is bound already, or an option is no function
 */
export function bindIdempotency(queryClient: QueryClient, { owner, onOtherOwner }: BindOptions = {}): () => void {
  checkOwner(owner, 'bindIdempotency')
  const cache = queryClient.getMutationCache()
  const mark = cache as { [BOUND]?: boolean }
  // Two bindings would give one mutation two keys, and two owners.
  if (mark[BOUND] === true) {
    throw new TypeError(
      'bindIdempotency: this QueryClient is bound already; call what the first call returned to end that',
    )
  }
  mark[BOUND] = true
  const watch = process.env.NODE_ENV === 'production' ? undefined : twoRetriersWarning()
  const binding = { owner, onOtherOwner, keys: createKeySource(), watch }
  for (const mutation of cache.getAll()) keepIntent(mutation, binding)
  // The event comes before the mutation is executed, and it comes for those that are hydrated too.
  const unsubscribe = cache.subscribe((event) => {
    if (event.type === 'added') keepIntent(event.mutation, binding)
  })
  return () => {
    mark[BOUND] = false
    unsubscribe()
  }
}
