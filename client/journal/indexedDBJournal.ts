import { createStore, del, set, values } from 'idb-keyval'
import { type IntentJournal, intentJournal, type JournalOptions } from './intentJournal.js'

/**
 * A journal in IndexedDB, which all tabs of an origin share.
 *
 * @param name of the database; another application on the same origin needs another one
 * @throws TypeError where `owner` is no function
 */
export function indexedDBJournal(name: string, options: JournalOptions): IntentJournal {
  let opened: ReturnType<typeof createStore> | undefined
  // Not before it is needed: a page that is rendered on a server has no IndexedDB.
  const database = () => {
    opened ??= createStore(name, 'intents')
    return opened
  }
  return intentJournal(
    name,
    {
      write: async (intent) => set(intent.key, intent, database()),
      remove: async (key) => del(key, database()),
      readAll: async () => values(database()),
    },
    options,
  )
}
