/** Nobody knows yet whether an earlier intent of the form was executed, so it can neither be replaced nor be changed. */
export class IntentUnresolvedError extends Error {
  override readonly name = 'IntentUnresolvedError'

  constructor(
    what: string,
    /** The key of the intent that is unresolved. */
    readonly key: string,
  ) {
    super(`${what} Find out with intent.retry(), which sends the old input again, or give it up with intent.abandon().`)
  }
}
