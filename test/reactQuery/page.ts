import type { MutationObserverOptions, QueryClient } from '@tanstack/react-query'
import { createTRPCClient, httpLink, type TRPCLink } from '@trpc/client'
import { createTRPCOptionsProxy } from '@trpc/tanstack-react-query'
import { type IdempotencyEvent, idempotencyLink } from 'trpc-idempotency/client'
import { type BindOptions, bindIdempotency } from 'trpc-idempotency/react-query'
import { onTestFinished } from 'vitest'
import type { Shop } from './shop.js'
import type { TanStack } from './versions.js'

export interface PageOptions extends BindOptions {
  url: string
  /** How often the link sends an intent. Default 1: so the tests see what TanStack Query does. */
  maxAttempts?: number
  retryBudget?: number
  onEvent?: (event: IdempotencyEvent) => void
  /** Who is signed in, by the header `x-user`. */
  user?: () => string
  /** What stands before our link. */
  before?: TRPCLink<Shop>[]
}

/** What one page of an application has, as its scripts set it up; without a browser. */
export function openPage(
  tanstack: TanStack,
  {
    url,
    maxAttempts = 1,
    retryBudget = 30,
    onEvent = () => undefined,
    user = () => 'alice',
    before = [],
    ...binding
  }: PageOptions,
) {
  // The types of the oldest TanStack Query are others; what is called is not.
  const queryClient: QueryClient = new tanstack.QueryClient({ defaultOptions: { mutations: { retryDelay: 1 } } })
  bindIdempotency(queryClient, binding)
  queryClient.mount()
  onTestFinished(() => {
    tanstack.onlineManager.setOnline(true)
    queryClient.unmount()
  })
  const mutations = { 'order.create': true, 'order.cancel': true } as const
  const client = createTRPCClient<Shop>({
    links: [
      ...before,
      idempotencyLink<Shop>({ mutations, maxAttempts, retryBudget, onEvent, baseDelayMs: 1 }),
      httpLink({ url, headers: () => ({ 'x-user': user() }) }),
    ],
  })
  const trpc = createTRPCOptionsProxy<Shop>({ client, queryClient })
  return {
    queryClient,
    client,
    trpc,
    /** What `useMutation` is made of. */
    useMutation<Answer, Failure, Variables, Context>(
      options: MutationObserverOptions<Answer, Failure, Variables, Context>,
    ) {
      return new tanstack.MutationObserver(queryClient, options)
    },
    mutations: () => queryClient.getMutationCache().getAll(),
  }
}

export type Page = ReturnType<typeof openPage>

/** The key that a mutation keeps. */
export function keptKey(mutation: { meta: Record<string, unknown> | undefined } | undefined): string | undefined {
  return (mutation?.meta?.['idempotency'] as { key: string } | undefined)?.key
}

/** A mutation whose page is left before it is answered. */
export function leave(mutated: Promise<unknown>): void {
  mutated.catch(() => undefined)
}

interface Sent {
  key: string | undefined
  item: string | undefined
}

/** What requests carried. */
export function sentIn(bodies: readonly string[]): Sent[] {
  return bodies.map((body) => {
    const sent = JSON.parse(body) as { '~idempotency'?: { key: string }; '~input'?: { item: string } }
    return { key: sent['~idempotency']?.key, item: sent['~input']?.item }
  })
}

/** The keys that requests carried, in their order. */
export function keysIn(bodies: readonly string[]): (string | undefined)[] {
  return sentIn(bodies).map(({ key }) => key)
}
