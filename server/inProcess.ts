import { wrap } from '../wire/envelope.js'

/**
 * Puts an idempotency key beside an input, for calls in the server's own process: `createCaller`, cron jobs, queues,
 * tests. The type stays that of the input, so that the call type-checks.
 *
 * @param key a UUIDv7 in lower case, the same one for every attempt at one intent
 */
export function withIdempotencyKey<Input>(input: Input, key: string): Input {
  // The envelope is not of the input's type; the wrapped procedure takes it apart before anything reads the input.
  return wrap(input, { key, attempt: 1 }) as Input
}
