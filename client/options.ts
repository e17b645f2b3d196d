import type { AnyTRPCRouter } from '@trpc/server'
import type { Carrier } from './carrier.js'
import type { IdempotencyEvent } from './events.js'
import type { LinkJournal } from './linkJournal.js'
import type { IdempotentPaths, OtherMutationPaths } from './mutations.js'

/** How one mutation is retried, where it differs from the link's own options. */
export interface MutationOptions {
  maxAttempts?: number
  attemptTimeoutMs?: number
  deadlineMs?: number
}

/** Without any idempotent path, nothing can be listed; a mapped type without properties would let anything pass. */
type ListedMutations<Router extends AnyTRPCRouter> = [IdempotentPaths<Router>] extends [never]
  ? Record<string, never>
  : { [Path in IdempotentPaths<Router>]: true | MutationOptions }

export interface IdempotencyLinkOptions<Router extends AnyTRPCRouter> {
  /**
   * The mutations that get a key and are retried: each path that is idempotent on the server, and no other. `'all'`
   * where every mutation of the router is.
   */
  mutations: ListedMutations<Router> | ([OtherMutationPaths<Router>] extends [never] ? 'all' : never)
  /**
   * How keys travel. `'input'`, inside the input: over every ending link, with no other change. `'header'`: as
   * `Idempotency-Key`, by an HTTP ending link with `headers: idempotencyHeaders(...)`; the server reads it by its option
   * `headers`. Binary input goes by the header in any case. Default `'input'`.
   */
  carrier?: Carrier
  /** How often an intent is sent at the most, the first time included. Default 5. */
  maxAttempts?: number
  /** Milliseconds after which an attempt without an answer is given up and repeated. Default 30,000. */
  attemptTimeoutMs?: number
  /** Milliseconds after which a call ends, whatever is left to try: all attempts, delays and pauses. Default 120,000. */
  deadlineMs?: number
  /** Upper bound in milliseconds of the random delay before the second attempt; it doubles from there. Default 250. */
  baseDelayMs?: number
  /** Upper bound in milliseconds of any delay, one that the server names included. Default 10,000. */
  maxDelayMs?: number
  /** How many retries of all its mutations the client can make in a burst; as many come back in a minute. Default 30. */
  retryBudget?: number
  /** Told of every attempt, delay and end. It observes: an error of its own is logged, and changes nothing. */
  onEvent?: (event: IdempotencyEvent) => void
  /** Keeps intents over the end of a page: `intentJournal(...)`. */
  journal?: LinkJournal
}

export interface RetryPolicy {
  maxAttempts: number
  attemptTimeoutMs: number
  deadlineMs: number
  baseDelayMs: number
  maxDelayMs: number
}

/** The options as they are without their types' help. */
export type GivenOptions = Partial<RetryPolicy> & {
  mutations: unknown
  carrier?: unknown
  retryBudget?: unknown
  onEvent?: unknown
  journal?: unknown
}

const DEFAULTS: RetryPolicy = {
  // A lost reply is cured by the second attempt. Five, with the delays below, outlast a process that restarts or a
  // balancer that takes a dead server out; longer than these four seconds a person does not wait for a button.
  maxAttempts: 5,
  // tRPC has no timeout of its own. Longer than a duplicate waits on the server and than proxies wait (nginx: 60 s is
  // their limit, not their habit); a slow first attempt that goes on is harmless, because the second one waits for it.
  attemptTimeoutMs: 30_000,
  // Four attempts that hang. Who still looks at the page has long pressed something else, and wants to know where he is.
  deadlineMs: 120_000,
  // A quarter of a second is about what a retry by hand would take, and is past most connection resets.
  baseDelayMs: 250,
  // Past ten seconds a longer pause spares the server nothing that full jitter did not spare it before.
  maxDelayMs: 10_000,
}

/**
 * A page has a handful of mutations under way; each may be retried as often as its policy says while a server restarts.
 * One that goes on failing is then asked every two seconds by each client, whatever the user tries.
 */
export const DEFAULT_RETRY_BUDGET = 30

/** Which mutations the link cares for, and how: `undefined` for a path that is not its own. */
export type PolicyOf = (path: string) => RetryPolicy | undefined

/** Fills in the defaults. */
export function policies({ mutations, ...options }: GivenOptions): PolicyOf {
  const general = policyFrom(options, DEFAULTS)
  if (mutations === 'all') return () => general
  const listed = new Map(
    Object.entries(mutations as Record<string, true | MutationOptions>).map(([path, own]) => [
      path,
      policyFrom(own === true ? {} : own, general),
    ]),
  )
  return (path) => listed.get(path)
}

function policyFrom(given: Partial<RetryPolicy>, defaults: RetryPolicy): RetryPolicy {
  const policy = { ...defaults }
  for (const name of Object.keys(defaults) as (keyof RetryPolicy)[]) policy[name] = given[name] ?? defaults[name]
  return policy
}
