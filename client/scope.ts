/** Whatever surrounds a call and knows its intent better than the call does: a form, or one `mutate()` of TanStack Query. */
export interface IntentScope {
  /** The key for the next mutation that is called in it; `undefined` where that one is an intent of its own. */
  takeKey(path: string): string | undefined
  /** Told of the key of an intent that is called in it, and keeps its key by itself. */
  join?(key: string): void
  /** Whether whoever made the intent is still signed in. Asked before each attempt. */
  isOurs?(): boolean
}

/** On `globalThis`, and registered: another copy of this package has to find it. */
const SCOPE = Symbol.for('trpc-idempotency.scope')

const holder = globalThis as { [SCOPE]?: IntentScope | undefined }

export function currentScope(): IntentScope | undefined {
  return holder[SCOPE]
}

/** Puts a scope around all that is in none. */
export function setScope(scope: IntentScope | undefined): void {
  holder[SCOPE] = scope
}

/** Runs a function in a scope. Only what it calls before it first waits is in it: what comes later could be anybody's. */
export function runInScope<T>(scope: IntentScope, run: () => T): T {
  const outer = holder[SCOPE]
  holder[SCOPE] = scope
  try {
    return run()
  } finally {
    holder[SCOPE] = outer
  }
}
