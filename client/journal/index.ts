export { indexedDBJournal } from './indexedDBJournal.js'
export {
  type InputTransformer,
  type IntentJournal,
  intentJournal,
  type JournalEvent,
  type JournalOptions,
  OwnerChangedError,
} from './intentJournal.js'
export { type ResumedIntent, resumeIntents } from './resumeIntents.js'
export type { IntentStore, StoredIntent } from './storedIntent.js'
