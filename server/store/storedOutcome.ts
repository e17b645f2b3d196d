import type { Outcome, StoredResult } from '../engine/record.js'

/** What an outcome is in the column `result`, beside its kind. */
export function storedOutcome(outcome: Outcome): [result: StoredResult, kind: Outcome['kind']] {
  switch (outcome.kind) {
    case 'value':
      return [outcome.result, outcome.kind]
    case 'error':
      return [outcome.shape, outcome.kind]
    case 'tombstone':
      return [outcome.reason, outcome.kind]
  }
}
