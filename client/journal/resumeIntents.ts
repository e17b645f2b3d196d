import { getUntypedClient, type TRPCClient } from '@trpc/client'
import type { AnyTRPCRouter } from '@trpc/server'
import { isOutcomeUnknown } from '../failure.js'
import { RESUMED } from '../intents.js'
import type { IntentJournal } from './intentJournal.js'

/** How an intent that was left ended. */
export type ResumedIntent = {
  key: string
  path: string
  input: unknown
} & (
  | { outcome: 'EXECUTED'; answer: unknown }
  /** It failed for good, and is no longer in the journal. */
  | { outcome: 'NOT_EXECUTED'; error: unknown }
  /**
   * Nobody knows, and it stays in the journal: the network is away, or the server has forgotten the key. The user has to
   * decide; `journal.forget(key)` takes it out.
   */
  | { outcome: 'UNKNOWN'; error: unknown }
)

/**
 * Sends what earlier pages left in the journal, each with its own key, so that what was executed is answered and not
 * executed again. Only what belongs to whoever is signed in, oldest first, one after the other, and in one tab: where
 * another one is at it, nothing is sent.
 *
 * @param client one whose link has this journal
 */
export async function resumeIntents<Router extends AnyTRPCRouter>(
  client: TRPCClient<Router>,
  journal: IntentJournal,
): Promise<ResumedIntent[]> {
  const { locks } = (globalThis.navigator ?? {}) as { locks?: LockManager }
  // Without Web Locks there are no tabs either, but one application.
  if (locks === undefined) return resume(client, journal)
  return locks.request(`trpc-idempotency:${journal.name}`, { ifAvailable: true }, (lock) =>
    lock === null ? [] : resume(client, journal),
  )
}

async function resume<Router extends AnyTRPCRouter>(
  client: TRPCClient<Router>,
  journal: IntentJournal,
): Promise<ResumedIntent[]> {
  const untyped = getUntypedClient(client)
  const ended: ResumedIntent[] = []
  for (const { key, path, input } of await journal.left()) {
    try {
      const answer = await untyped.mutation(path, input, { context: { idempotencyKey: key, [RESUMED]: true } })
      ended.push({ key, path, input, outcome: 'EXECUTED', answer })
    } catch (error) {
      ended.push({ key, path, input, outcome: isOutcomeUnknown(error) ? 'UNKNOWN' : 'NOT_EXECUTED', error })
    }
  }
  return ended
}
