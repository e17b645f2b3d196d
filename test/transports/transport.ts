import type { AttemptOutcome, Reason } from 'trpc-idempotency/server'
import type { ShopOptions, ShopRouter } from './shop.js'

/** A way from a caller to a mutation. */
export interface Transport {
  name: string
  /** The HTTP requests in which `severalAtOnce` travels, by their paths. */
  requests: string[]
  /** Makes the way ready; it is gone when the test ends. */
  open(shop: OpenShop): Promise<(user: string) => Caller>
}

export interface OpenShop extends ShopOptions {
  router: ShopRouter
}

/** One user at one end of a transport. */
export interface Caller {
  /** Calls a mutation with a key, as an application does. */
  call(path: string, input: unknown, key: string): Promise<unknown>
  /** Calls it past the client's half of the library: the input is all there is. */
  callWithout(path: string, input: unknown): Promise<unknown>
  /** What an error that came out of either says. */
  read(error: unknown): Refusal
  /** The paths of the HTTP requests that were made so far. */
  requests: string[]
}

/** What every transport says of a call that failed. */
export interface Refusal {
  code: unknown
  message: string
  httpStatus: unknown
  reason?: Reason
  attemptOutcome?: AttemptOutcome
}
