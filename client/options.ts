import type { AnyTRPCRouter } from '@trpc/server'
import type { Carrier } from './carrier.js'
import type { IdempotentPaths, OtherMutationPaths } from './mutations.js'

/** How one mutation is retried, where it differs from the link's own options. */
export interface MutationOptions {
  maxAttempts?: number
  attemptTimeoutMs?: number
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
  /** Upper bound in milliseconds of the random delay before the second attempt; it doubles from there. Default 250. */
  baseDelayMs?: number
  /** Upper bound in milliseconds of any delay. Default 10,000. */
  maxDelayMs?: number
}

export interface RetryPolicy {
  maxAttempts: number
  attemptTimeoutMs: number
  baseDelayMs: number
  maxDelayMs: number
}

const DEFAULTS: RetryPolicy = {
  // A lost reply is cured by the second attempt. Five, with the delays below, outlast a process that restarts or a
  // balancer that takes a dead server out; longer than these four seconds a person does not wait for a button.
  maxAttempts: 5,
  // tRPC has no timeout of its own. Longer than a duplicate waits on the server and than proxies wait (nginx: 60 s is
  // their limit, not their habit); a slow first attempt that goes on is harmless, because the second one waits for it.
  attemptTimeoutMs: 30_000,
  // A quarter of a second is about what a retry by hand would take, and is past most connection resets.
  baseDelayMs: 250,
  // Past ten seconds a longer pause spares the server nothing that full jitter did not spare it before.
  maxDelayMs: 10_000,
}

/** The longest delay that timers of browsers and Node.js can hold; a longer one fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647

const BOUNDS: { [Name in keyof RetryPolicy]: { least: number; most: number } } = {
  maxAttempts: { least: 1, most: 100 },
  attemptTimeoutMs: { least: 1, most: LONGEST_TIMER_MS },
  baseDelayMs: { least: 0, most: LONGEST_TIMER_MS },
  maxDelayMs: { least: 0, most: LONGEST_TIMER_MS },
}

/** Which mutations the link cares for, and how: `undefined` for a path that is not its own. */
export type PolicyOf = (path: string) => RetryPolicy | undefined

export interface LinkSettings {
  policyOf: PolicyOf
  carrier: Carrier
}

/**
 * Checks the options once and fills in the defaults.
 *
 * @throws TypeError that names the option, its bounds and the value
 */
export function readLinkOptions(
  options: { mutations: unknown; carrier?: unknown } & Partial<RetryPolicy>,
): LinkSettings {
  const { mutations, carrier = 'input' } = options
  if (carrier !== 'input' && carrier !== 'header') {
    throw new TypeError(`idempotencyLink: carrier must be 'input' or 'header', got ${print(carrier)}`)
  }
  return { policyOf: readMutations(mutations, policyFrom(options, DEFAULTS, '')), carrier }
}

function readMutations(mutations: unknown, general: RetryPolicy): PolicyOf {
  if (mutations === 'all') return () => general
  if (typeof mutations !== 'object' || mutations === null || Array.isArray(mutations)) {
    throw new TypeError(
      `idempotencyLink: mutations must be 'all' or an object of paths such as { 'order.create': true }, got ${print(mutations)}`,
    )
  }
  const policies = new Map<string, RetryPolicy>()
  for (const [path, own] of Object.entries(mutations)) {
    if (own !== true && (typeof own !== 'object' || own === null)) {
      throw new TypeError(`idempotencyLink: mutations['${path}'] must be true or an object, got ${print(own)}`)
    }
    policies.set(path, own === true ? general : policyFrom(own, general, `mutations['${path}'].`))
  }
  return (path) => policies.get(path)
}

function policyFrom(given: Partial<RetryPolicy>, defaults: RetryPolicy, where: string): RetryPolicy {
  const policy = { ...defaults }
  for (const name of Object.keys(BOUNDS) as (keyof RetryPolicy)[]) {
    const value: unknown = given[name]
    if (value === undefined) continue
    const { least, most } = BOUNDS[name]
    if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
      throw new TypeError(
        `idempotencyLink: ${where}${name} must be a whole number from ${least} to ${most}, got ${print(value)}`,
      )
    }
    policy[name] = value as number
  }
  return policy
}

function print(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : Array.isArray(value) ? 'an array' : String(value)
}
