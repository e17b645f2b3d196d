import type { Operation } from '@trpc/client'
import { isNonJsonSerializable } from '@trpc/client'
import { tell } from '../events.js'
import type { LinkJournal } from '../linkJournal.js'
import { type IntentStore, isStoredIntent, type StoredIntent } from './storedIntent.js'

/** What makes values that can be kept of inputs: the client's transformer, or its `input` part. */
export interface InputTransformer {
  // biome-ignore lint/suspicious/noExplicitAny: the type of tRPC's transformers, so that any of them fits.
  serialize(value: any): any
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  deserialize(value: any): any
}

export interface JournalOptions {
  /** Who is signed in now. An intent is sent again only for whom it was made; say `''` where nobody has to sign in. */
  owner(): string
  /** The client's transformer, so that Dates and BigInts come back as they were. Plain values when left out. */
  transformer?: InputTransformer
  /** Paths of mutations whose inputs must not be kept: they are sent, and lost with the page. */
  exclude?: readonly string[]
  /**
   * What is done with an intent that could not be written down, because the store is full, blocked or broken: `'send'` it
   * all the same, or `'refuse'` it. Default `'send'`. An event tells in both cases.
   */
  unwritten?: 'send' | 'refuse'
  /** Milliseconds after which a store that does not answer counts as blocked. Default 2,000. */
  storeTimeoutMs?: number
  /** Told of all that the journal could not do. An error of its own is logged, and changes nothing. */
  onEvent?: (event: JournalEvent) => void
}

/** What a journal could not do. */
export type JournalEvent =
  /** An intent is not kept. */
  | { type: 'unwritten'; path: string; key: string; error: Error }
  /** What is kept could not be read, or not be removed. */
  | { type: 'unreadable' | 'unremoved'; error: Error }
  /** Something that is kept is no intent. It stays where it is. */
  | { type: 'corrupt'; found: unknown }
  /** An intent belongs to somebody else, who will find it when he is back. */
  | { type: 'foreign'; path: string; key: string }

export interface IntentJournal extends LinkJournal {
  /** Names the journal among the tabs of an origin. */
  readonly name: string
  /** The intents whose outcome is not known and that belong to whoever is signed in, oldest first, inputs as they were. */
  left(): Promise<StoredIntent[]>
  /** Forgets an intent whose outcome nobody will learn any more: the user has decided. */
  forget(key: string): Promise<void>
}

/**
 * A journal over any store: the link's option `journal`. An intent is written before it is first sent, and removed once
 * its outcome is known, so what is left after a reload are those whose outcome is not.
 *
 * @param name the same for all tabs that share the store
 * @throws TypeError where `owner` is no function
 */
export function intentJournal(name: string, store: IntentStore, options: JournalOptions): IntentJournal {
  const { owner, transformer, exclude = [], unwritten = 'send', storeTimeoutMs = 2000, onEvent } = options
  if (typeof owner !== 'function') {
    throw new TypeError('intentJournal: owner must be a function that names who is signed in')
  }
  /** Whose intents are, that this page made or found. */
  const owners = new Map<string, string>()
  const sending = new Set<string>()
  const inTime = <T>(work: Promise<T>): Promise<T> => within(storeTimeoutMs, work)

  return {
    name,
    async begin(op, key) {
      sending.add(key)
      const now = owner()
      const known = owners.get(key)
      if (known !== undefined) {
        if (known !== now) throw new OwnerChangedError(op.path)
        return
      }
      owners.set(key, now)
      if (exclude.includes(op.path)) return
      try {
        await inTime(store.write({ key, path: op.path, input: keepable(op, transformer), owner: now }))
      } catch (cause) {
        const error = cause as Error
        tell(onEvent, { type: 'unwritten', path: op.path, key, error })
        if (unwritten === 'send') return
        throw new Error(`${op.path}: it was not sent, because its journal failed: ${error.message}`, { cause })
      }
    },
    end({ key, outcomeUnknown }) {
      sending.delete(key)
      if (outcomeUnknown) return
      owners.delete(key)
      inTime(store.remove(key)).catch((error: Error) => tell(onEvent, { type: 'unremoved', error }))
    },
    async left() {
      let found: unknown[]
      try {
        found = await inTime(store.readAll())
      } catch (error) {
        tell(onEvent, { type: 'unreadable', error: error as Error })
        return []
      }
      const now = owner()
      const mine: StoredIntent[] = []
      for (const intent of found) {
        if (!isStoredIntent(intent)) tell(onEvent, { type: 'corrupt', found: intent })
        else if (intent.owner !== now) tell(onEvent, { type: 'foreign', path: intent.path, key: intent.key })
        // What this page is sending itself is not left of another one.
        else if (!sending.has(intent.key)) mine.push(intent)
      }
      // Whoever is signed in when their turn comes: they are sent as this one's or not at all.
      for (const { key } of mine) owners.set(key, now)
      // Keys begin with the time of their birth.
      return mine.sort((a, b) => (a.key < b.key ? -1 : 1)).flatMap((intent) => asItWas(intent, options))
    },
    async forget(key) {
      owners.delete(key)
      await store.remove(key)
    },
  }
}

/** The intent of one user must not be sent as another's. */
export class OwnerChangedError extends Error {
  override readonly name = 'OwnerChangedError'

  constructor(path: string) {
    super(
      `${path}: somebody else is signed in now, so it is not sent again. It stays in the journal for whom it belongs to.`,
    )
  }
}

function keepable({ path, input }: Operation, transformer: InputTransformer | undefined): unknown {
  if (isNonJsonSerializable(input)) throw new TypeError(`${path}: forms and bytes are not kept in a journal`)
  return transformer === undefined ? input : transformer.serialize(input)
}

function asItWas(intent: StoredIntent, { transformer, onEvent }: JournalOptions): StoredIntent[] {
  try {
    return [transformer === undefined ? intent : { ...intent, input: transformer.deserialize(intent.input) }]
  } catch {
    tell(onEvent, { type: 'corrupt', found: intent })
    return []
  }
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the store did not answer within ${ms} ms`)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
