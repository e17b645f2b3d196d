import { expect } from 'vitest'

/** The error of a call that has to fail. */
export async function caught(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => expect.fail('it should have failed'),
    (error: Error) => error,
  )
}
