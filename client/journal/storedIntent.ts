import { KEY_PATTERN } from '../../wire/key.js'

/** An intent as it is kept: made of what JSON can carry, where the transformer makes JSON. */
export interface StoredIntent {
  key: string
  /** Path of the mutation. */
  path: string
  /** As the transformer serialised it. */
  input: unknown
  /** Whose it is, as the option `owner` said. */
  owner: string
}

/** Where intents are kept. Each function may take its time, and may fail. */
export interface IntentStore {
  /** Keeps an intent under its key, in place of one that is there already. */
  write(intent: StoredIntent): Promise<void>
  /** Forgets it; one that is not there is no error. */
  remove(key: string): Promise<void>
  /** All that is kept, in any order. */
  readAll(): Promise<StoredIntent[]>
}

/** Whether something that was read is an intent. A store is read by whatever version of the page comes next. */
export function isStoredIntent(value: unknown): value is StoredIntent {
  const { key, path, owner } = (value ?? {}) as Partial<Record<keyof StoredIntent, unknown>>
  return typeof key === 'string' && KEY_PATTERN.test(key) && typeof path === 'string' && typeof owner === 'string'
}
