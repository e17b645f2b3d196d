import { createTRPCClient, TRPCClientError, type TRPCLink } from '@trpc/client'
import { observable } from '@trpc/server/observable'
import { type Shop, untyped } from '../../test/support/untypedClient.js'

/** Calls a mutation, and gets its answer. */
export type Call = () => Promise<unknown>

/** The same mutation over no link, over ours, and over ours with a first attempt that fails. */
export const LANES = ['none', 'link', 'linkRetried'] as const
export type Lane = (typeof LANES)[number]

/** Clients whose ending link answers at once: no network, so that nothing but the links is measured. */
export function answeringClients(): Record<Lane, Call> {
  const links = (failing: boolean) => [
    untyped({
      mutations: 'all',
      // Else the delays are measured, and the budget ends the retries.
      ...(failing && { baseDelayMs: 0, retryBudget: Number.MAX_SAFE_INTEGER }),
    }),
    ending(failing),
  ]
  return { none: callOver([ending(false)]), link: callOver(links(false)), linkRetried: callOver(links(true)) }
}

function callOver(links: TRPCLink<Shop>[]): Call {
  const client = createTRPCClient<Shop>({ links })
  return () => client.create.mutate(INPUT)
}

/** @param failing whether the first attempt at each intent fails */
function ending(failing: boolean): TRPCLink<Shop> {
  // Made once: what an error costs to make is not the link's doing.
  const error = TRPCClientError.from<Shop>(new Error('the connection was lost'))
  return () =>
    ({ op }) =>
      observable((observer) => {
        if (failing && isFirst(op.input)) return observer.error(error)
        observer.next({ result: { type: 'data', data: ANSWER } })
        observer.complete()
      })
}

const INPUT = { item: 'tea', cents: 350 }
const ANSWER = { id: 1, ...INPUT }

function isFirst(input: unknown): boolean {
  return (input as { '~idempotency': { attempt: number } })['~idempotency'].attempt === 1
}
