import type { Outcome, StoredResult } from '../engine/record.js'
import type { Sealed } from './seal.js'

/** What an outcome is in the column `result`, beside its kind. */
export function storedOutcome(
  outcome: Outcome,
  { close }: Pick<Sealed, 'close'>,
): [result: StoredResult, kind: Outcome['kind']] {
  switch (outcome.kind) {
    case 'value':
      return [close(outcome.kind, outcome.result), outcome.kind]
    case 'error':
      return [close(outcome.kind, outcome.shape), outcome.kind]
    // It tells nothing of the result, and whoever erases one has no key to seal with.
    case 'tombstone':
      return [outcome.reason, outcome.kind]
  }
}
