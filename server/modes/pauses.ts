/** No pause between two claims is longer: the winner's answer should not be there unread for much of a second. */
const LONGEST_CLAIM_PAUSE_MS = 1000
/** A short transaction is over by then; and whoever holds the key for longer may do so for seconds. */
const REPEAT_WAIT_MS = 10
/** About as long as a short transaction: the other one of a conflict is over by then. */
const FIRST_RERUN_PAUSE_MS = 10

/**
 * Milliseconds that a repeat waits on a connection for the one that runs. Each key that is waited for takes one in each
 * process: as many slow keys as there are connections, waited for as long as first attempts wait, would take them all.
 */
export function repeatWaitMs(claimWaitMs: number): number {
  return Math.min(claimWaitMs, REPEAT_WAIT_MS)
}

/**
 * Milliseconds that a duplicate stays away from the database before it claims again: as long as a first attempt
 * holds a connection, then twice as long and so on, so that duplicates leave the pool to others. Give or take half, so that
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
