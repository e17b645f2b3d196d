import type { Operation } from '@trpc/client'

/**
 * Notices, once, that a link below sends an attempt again by itself: then the numbers of attempts multiply. (A link above
 * adds to them: the intent, and the count of its attempts, stay the same.) Whoever sends an operation reads its input,
 * so a read in a later turn that no answer follows is a second sending. One of a copy of the operation is not seen.
 *
 * @returns what watches one attempt; `isOver` tells whether it was answered or ended
 */
export function retrierBelowWarning(): (op: Operation, isOver: () => boolean) => void {
  let warned = false
  return (op, isOver) => {
    if (warned) return
    const { input } = op
    let sent = false
    const warnUnlessAnswered = () => {
      if (warned || isOver()) return
      warned = true
      console.warn(
        `idempotencyLink: a link below it retries ${op.path} too, so the numbers of attempts multiply. Let one of the two retry: remove retryLink, or put it above and set maxAttempts: 1 here.`,
      )
    }
    Object.defineProperty(op, 'input', {
      enumerable: true,
      get() {
        if (sent) setTimeout(warnUnlessAnswered)
        else setTimeout(() => (sent = true))
        return input
      },
    })
  }
}
