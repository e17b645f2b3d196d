import type { Operation } from '@trpc/client'

/** Who keeps intents over the end of a page, as the link sees it. */
export interface LinkJournal {
  /**
   * Writes an intent down, before it is sent for the first time with this key. It rejects where the intent must not be
   * sent unwritten.
   */
  begin(op: Operation, key: string): Promise<void>
  /** Its outcome is known. */
  end(key: string): void
}
