import type { Mutation } from '@tanstack/react-query'

/**
 * "Try again": sends a mutation once more, with its key and its variables, where `mutate()` would be a new intent. One that
 * is under way, or paused, is waited for; one that was in flight at a reload is sent.
 *
 * @returns the mutation's answer; that of one which succeeded is not asked for again
 */
export async function retryIntent<Data, Failure, Variables, Context>(
  mutation: Mutation<Data, Failure, Variables, Context>,
): Promise<Data> {
  const { status, variables, data } = mutation.state
  switch (status) {
    case 'pending':
      return (await mutation.continue()) as Data
    case 'error':
      return mutation.execute(variables as Variables)
    case 'success':
      return data as Data
    case 'idle':
      throw new TypeError('retryIntent: this mutation was never sent, so there is nothing to try again')
  }
}
