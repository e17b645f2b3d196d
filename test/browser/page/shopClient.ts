import { dehydrate, hydrate, QueryClient } from '@tanstack/react-query'
import { createTRPCClient, httpBatchLink, type TRPCLink } from '@trpc/client'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { idempotencyLink } from 'trpc-idempotency/client'
import { bindIdempotency } from 'trpc-idempotency/react-query'
import type { Shop } from '../../reactQuery/shop.js'

// What the scripts of each page of the shop begin with, as docs/react-query.md has it.

const parameters = new URLSearchParams(location.search)
const signedIn = parameters.get('user') ?? ''

export const links: TRPCLink<Shop>[] = [
  // So that what is retried is retried by TanStack Query.
  idempotencyLink<Shop>({ mutations: { 'order.create': true, 'order.cancel': true }, maxAttempts: 1 }),
  httpBatchLink({ url: parameters.get('api') ?? '', headers: { 'x-user': signedIn } }),
]
export const client = createTRPCClient<Shop>({ links })

export const queryClient = new QueryClient({ defaultOptions: { mutations: { retry: 3, retryDelay: 30 } } })

/** Mutations that stayed, because they are somebody else's. */
export const othersMutations: unknown[] = []

bindIdempotency(queryClient, {
  owner: () => signedIn,
  onOtherOwner: (mutation) => othersMutations.push(mutation.state.variables),
})

const trpc = createTRPCOptionsProxy<Shop>({ client, queryClient })
queryClient.setMutationDefaults(trpc.order.create.mutationKey(), trpc.order.create.mutationOptions())

/** Takes up what the last page left: paused or in flight. */
export async function takeUp(): Promise<void> {
  hydrate(queryClient, JSON.parse(localStorage.getItem('mutations') ?? '{}'))
  const cache = queryClient.getMutationCache()
  cache.subscribe(() => {
    const left = dehydrate(queryClient, { shouldDehydrateMutation: ({ state }) => state.status === 'pending' })
    localStorage.setItem('mutations', JSON.stringify(left))
  })
  await Promise.allSettled(cache.findAll({ status: 'pending' }).map((mutation) => mutation.continue()))
}
