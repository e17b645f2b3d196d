import { type Operation, TRPCClientError, type TRPCLink } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { observable } from '@trpc/server/observable'
import { type Sender, sendUntilAnswered } from './attempts.js'
import { retryBudget } from './budget.js'
import { checkOptions } from './checkOptions.js'
import { type IdempotencyEvent, tell } from './events.js'
import { createIntents, type Intent } from './intents.js'
import { DEFAULT_RETRY_BUDGET, type IdempotencyLinkOptions, policies } from './options.js'
import { retrierBelowWarning } from './retrierBelow.js'

export type { IdempotencyLinkOptions, MutationOptions } from './options.js'

/**
 * A link that makes mutations safe to retry, and retries them: one key for each intent, kept over all its attempts. Put
 * it anywhere before the ending link. Queries, subscriptions and mutations that are not listed pass through untouched.
 *
 * A caller may bring a key: `mutate(input, { context: { idempotencyKey } })`.
 *
 * @throws TypeError in development, where an option is wrong; the message names option, bound and value
 */
export function idempotencyLink<Router extends AnyTRPCRouter>(
  options: IdempotencyLinkOptions<Router>,
): TRPCLink<Router> {
  let watch: Sender['watch']
  // Written out, because bundlers know this expression and leave out what it guards.
  if (typeof process !== 'undefined' && process.env['NODE_ENV'] !== 'production') {
    checkOptions(options)
    watch = retrierBelowWarning()
  }
  const policyOf = policies(options)
  const { carrier = 'input', journal, onEvent } = options
  return () => {
    const sender: Sender = {
      intents: createIntents(),
      budget: retryBudget(options.retryBudget ?? DEFAULT_RETRY_BUDGET),
      carrier,
      journal,
      watch,
      report: (event) => tell<IdempotencyEvent>(onEvent, event),
    }
    return ({ op, next }) => {
      if (op.type !== 'mutation') return next(op)
      const policy = policyOf(op.path)
      if (policy === undefined && !('idempotencyKey' in op.context)) return next(op)
      return observable((observer) => {
        let intent: Intent
        try {
          if (policy === undefined) throw unlisted(op)
          intent = sender.intents.of(op)
        } catch (error) {
          observer.error(TRPCClientError.from(error as TypeError))
          return
        }
        return sendUntilAnswered({ op, intent, policy, next, sender }, observer)
      })
    }
  }
}

/** A caller who brings a key counts on it. A mutation that is not listed would run without. */
function unlisted(op: Operation): TypeError {
  return new TypeError(`${op.path}: context.idempotencyKey is given for a path that mutations does not list`)
}
