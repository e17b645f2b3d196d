import { currentScope, type IntentScope, setScope } from './scope.js'

/** Intents whose function has not come to its end, and paths that were warned of. Shared with other copies of this package. */
interface Watch {
  running: number
  warned: Set<string>
}

const WATCH = Symbol.for('trpc-idempotency.watch')

/**
 * For development: warns of a mutation that is called while the function of an intent is running, and in no scope. Most
 * likely it belongs to that function, which has waited for something before; a link that waits does the same to it.
 */
export function warnOfStrays<Answer>(run: () => Promise<Answer>): Promise<Answer> {
  const holder = globalThis as { [WATCH]?: Watch }
  holder[WATCH] ??= { running: 0, warned: new Set() }
  const watch = holder[WATCH]
  watch.running += 1
  // A microtask is in nobody's scope. Queued before the run, so that it comes before whatever the run waits for.
  queueMicrotask(() => {
    if (watch.running > 0 && currentScope() === undefined) setScope(watcherOf(watch))
  })
  const answer = run()
  const stop = () => {
    watch.running -= 1
    if (watch.running === 0) setScope(undefined)
  }
  answer.then(stop, stop)
  return answer
}

function watcherOf({ warned }: Watch): IntentScope {
  return {
    takeKey(path) {
      if (!warned.has(path)) {
        warned.add(path)
        console.warn(
          `trpc-idempotency: ${path} was called while the function of an intent was running, but not within it. If it belongs to that function, it was called after the function first waited, or passed a link that waits: it has a key of its own, so a retry of the function may execute it twice. Call it before the function first waits, or as an intent of its own; put idempotencyLink first.`,
        )
      }
      return undefined
    },
  }
}
