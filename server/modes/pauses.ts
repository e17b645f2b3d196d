/** No pause between two claims is longer: the winner's answer should not be there unread for much of a second. */
const LONGEST_CLAIM_PAUSE_MS = 1000
/** About as long as a short transaction: the other one of a conflict is over by then. */
const FIRST_RERUN_PAUSE_MS = 10

/**
 * Milliseconds that a duplicate stays away from the database before it claims again: as long again as it held a
 * connection, then twice as long and so on, so that duplicates leave the pool to others. Give or take half, so that
 * they do not march in step.
 *
 * @param times how often it was blocked before
 */
export function claimPauseMs(times: number, claimWaitMs: number): number {
  return Math.min(LONGEST_CLAIM_PAUSE_MS, claimWaitMs * 2 ** times) * (0.5 + Math.random())
}

/**
 * Lets a little time pass before something is run again that met a conflict or was not answered.
 *
 * @param times how often it was run again before
 */
export function pauseBeforeRerun(times: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, FIRST_RERUN_PAUSE_MS * 2 ** times * Math.random()))
}
