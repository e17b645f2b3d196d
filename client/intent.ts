import { AFTER_DELAY } from '../wire/afterDelay.js'
import { idempotencyErrorOf } from './failure.js'
import { IntentUnresolvedError } from './intentUnresolvedError.js'
import { createKeySource } from './keySource.js'
import { checkOwner, isOwner, type OwnerOption } from './owner.js'
import { runIntent } from './runIntent.js'
import { sameInput } from './sameInput.js'
import { currentScope } from './scope.js'

export interface IntentOptions {
  /** Who is signed in, such as the user's id. What one owner left unresolved is not sent as another. */
  owner?: OwnerOption
}

/**
 * `idle`: nothing is under way; the next run is a new intent. `in flight`. `not executed`: it failed, and is known to have
 * had no effect. `unresolved`: it failed, and may have been executed.
 */
export type IntentStatus = 'idle' | 'in flight' | 'not executed' | 'unresolved'

/** What a form wants done once, however often it is submitted. */
export interface HeldIntent<Input, Answer> {
  readonly status: IntentStatus
  /**
   * Sends an input. While the intent is in flight, the same input has the same answer. After a failure the same input is
   * sent with the same key, and another input with a new one.
   *
   * @throws IntentUnresolvedError (by rejecting) where the input is another one than that which may have been executed
   */
  run(input: Input): Promise<Answer>
  /** Sends the input of the intent again, with its key. */
  retry(): Promise<Answer>
  /** Gives the intent up, though it may have been executed: the next run is a new one. */
  abandon(): void
  /** @returns what ends it */
  subscribe(onChange: () => void): () => void
}

type Held<Input, Answer> =
  | { status: 'idle' }
  | { status: 'in flight'; key: string; input: Input; owned: unknown; answer: Promise<Answer> }
  | { status: 'not executed' | 'unresolved'; key: string; input: Input; owned: unknown }

/**
 * Holds the key of one intent, from its first run to its success: a double click, or a second click after a failure, is the
 * same intent.
 *
 * @param send what sends it; its mutations have to be called before it first waits
 * @throws TypeError where the option is no function
 */
export function createIntent<Input, Answer>(
  send: (input: Input) => Promise<Answer>,
  { owner }: IntentOptions = {},
): HeldIntent<Input, Answer> {
  checkOwner(owner, 'createIntent')
  const keys = createKeySource()
  const listeners = new Set<() => void>()
  let held: Held<Input, Answer> = { status: 'idle' }

  const become = (next: Held<Input, Answer>) => {
    held = next
    for (const listener of listeners) listener()
  }

  const start = (key: string, input: Input): Promise<Answer> => {
    const owned = owner?.()
    if (!isOwner(owner, owned)) throw new TypeError('createIntent: owner gave no owner, so nothing is sent')
    const { answer, keys: taken } = runIntent(
      key,
      () => send(input),
      () => isOwner(owner, owned),
    )
    const inFlight = { status: 'in flight' as const, key, input, owned, answer }
    become(inFlight)
    const end = (next: Held<Input, Answer>) => {
      // It may have been abandoned, and another one be under way.
      if (held === inFlight) become(next)
    }
    answer.then(
      () => end({ status: 'idle' }),
      (error: unknown) => {
        keys.learn(error)
        end(after(error, { key, input, owned }, taken))
      },
    )
    return answer
  }

  return {
    get status() {
      return held.status
    },
    async run(input) {
      if (held.status === 'idle') return start(keys.mint(), input)
      const same = isOwner(owner, held.owned) && sameInput(held.input, input)
      switch (held.status) {
        case 'in flight':
          if (same) return join(held)
          throw new IntentUnresolvedError('Another input, or one of another owner, is in flight.', held.key)
        case 'not executed':
          return start(same ? held.key : keys.mint(), input)
        case 'unresolved':
          if (same) return start(held.key, input)
          throw new IntentUnresolvedError(
            'Another input, or one of another owner, was sent and may have been executed.',
            held.key,
          )
      }
    },
    async retry() {
      if (held.status === 'idle') throw new TypeError('intent.retry: nothing was sent, or it has succeeded')
      if (!isOwner(owner, held.owned)) {
        throw new IntentUnresolvedError('Another owner sent it than the one that is signed in.', held.key)
      }
      return held.status === 'in flight' ? join(held) : start(held.key, held.input)
    },
    abandon: () => become({ status: 'idle' }),
    subscribe(onChange) {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
  }
}

/** The second of two clicks: the `mutate()` around it is to know under which key it was sent. */
function join<Answer>({ key, answer }: { key: string; answer: Promise<Answer> }): Promise<Answer> {
  currentScope()?.join?.(key)
  return answer
}

/** What is held after a failure. */
function after<Input, Answer>(
  error: unknown,
  sent: { key: string; input: Input; owned: unknown },
  taken: readonly string[],
): Held<Input, Answer> {
  const failure = idempotencyErrorOf(error)
  // The failure of one mutation says nothing of the others.
  const known = failure?.outcome === 'NOT_EXECUTED' && taken.length === 1 && failure.key === sent.key
  if (!known) return { status: 'unresolved', ...sent }
  // A key that was refused for good is refused the next time too. (Where an operator has to act, the outcome is unknown.)
  if (failure.reason !== undefined && !Object.hasOwn(AFTER_DELAY, failure.reason)) return { status: 'idle' }
  return { status: 'not executed', ...sent }
}
