declare const IDEMPOTENT: unique symbol

/**
 * A phantom in the meta type of an idempotent procedure: no value ever has it. By it the client's type knows which
 * mutations may be retried.
 */
export interface Idempotent {
  readonly [IDEMPOTENT]?: true
}
