import { deriveKey } from './derivedKey.js'
import { currentScope, runInScope } from './scope.js'
import { warnOfStrays } from './strays.js'

/** Bundlers put a value in its place, and leave out what only development needs. Query and React rely on the same. */
declare const process: { env: { NODE_ENV?: string } }

export interface IntentRun<Answer> {
  answer: Promise<Answer>
  /** The keys under which it sent anything. Complete at once: what is called later is not in the scope. */
  keys: readonly string[]
}

/**
 * Runs what sends an intent. The first mutation that it calls has the intent's key; further ones, as in
 * `Promise.all([create(), cancel()])`, have keys derived from it. A second run gives the same keys in the same order.
 *
 * @param isOurs asked before each attempt: the intent of one user must not be sent as another's
 *
 * Only before it first waits: after that, nothing tells its calls from anybody else's.
 */
export function runIntent<Answer>(
  key: string,
  send: () => Answer | Promise<Answer>,
  isOurs: () => boolean,
): IntentRun<Answer> {
  const keys: string[] = []
  let ordinal = 0
  const outer = currentScope()
  const join = (joining: string) => {
    keys.push(joining)
    outer?.join?.(joining)
  }
  const scope = {
    takeKey(path: string) {
      const taken = ordinal === 0 ? key : deriveKey(key, ordinal, path)
      ordinal += 1
      join(taken)
      return taken
    },
    join,
    isOurs,
  }
  const run = () => runInScope(scope, async () => send())
  return { answer: process.env.NODE_ENV === 'production' ? run() : warnOfStrays(run), keys }
}
