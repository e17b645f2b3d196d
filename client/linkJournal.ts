import type { Operation } from '@trpc/client'
import type { Intent } from './intents.js'

/** Who keeps intents over the end of a page, as the link sees it. */
export interface LinkJournal {
  /**
   * Called before each sending of an intent. Before the first one it writes the intent down; before any other it looks
   * whether the intent is still that of whoever is signed in. It rejects where it must not be sent.
   */
  begin(op: Operation, key: string): Promise<void>
  /** The intent is not sent any more. Once its outcome is known, there is nothing to keep. */
  end(intent: Intent): void
}
