import { type Operation, TRPCClientError, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { sendUntilAnswered } from './attempts.js'
import { createIntents, type Intent, type Intents } from './intents.js'
import { type IdempotencyLinkOptions, readLinkOptions } from './options.js'

export type { IdempotencyLinkOptions, MutationOptions } from './options.js'

/**
 * A link that makes mutations safe to retry, and retries them: one key for each intent, kept over all its attempts. Put
 * it anywhere before the ending link. Queries, subscriptions and mutations that are not listed pass through untouched.
 *
 * A caller may bring a key: `mutate(input, { context: { idempotencyKey } })`.
 *
 * @throws TypeError where an option is out of bounds; the message names option, bound and value
 */
export function idempotencyLink<Router extends AnyTRPCRouter>(
  options: IdempotencyLinkOptions<Router>,
): TRPCLink<Router> {
  const { policyOf, carrier } = readLinkOptions(options)
  return () => {
    const intents = createIntents()
    return ({ op, next }) => {
      if (op.type !== 'mutation') return next(op)
      const policy = policyOf(op.path)
      if (policy === undefined && !('idempotencyKey' in op.context)) return next(op)
      return observable((observer) => {
        let intent: Intent
        try {
          if (policy === undefined) throw unlisted(op)
          intent = intentOf(op, intents)
        } catch (error) {
          observer.error(TRPCClientError.from(error as TypeError))
          return
        }
        return sendUntilAnswered({ op, intent, intents, policy, carrier, next }, observer)
      })
    }
  }
}

function intentOf(op: Operation, intents: Intents): Intent {
  if (op.input instanceof ReadableStream) {
    throw new TypeError(`${op.path}: a stream can be sent only once, so it cannot be retried; send a Blob`)
  }
  return intents.of(op)
}

/** A caller who brings a key counts on it. A mutation that is not listed would run without. */
function unlisted(op: Operation): TypeError {
  return new TypeError(`${op.path}: context.idempotencyKey is given, but the link's option mutations lacks this path`)
}
