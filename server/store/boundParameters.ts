/** By how much the database outlasts Prisma's timeout, which gives the better error where the process is alive. */
const IDLE_MARGIN_MS = 1000

/** The parameters of a statement that bounds its transaction: lock, statement and idle timeout, as `bounded` takes them. */
export function boundParameters(bounds: { claimWaitMs: number; timeoutMs: number }): [string, string, string] {
  const { claimWaitMs, timeoutMs } = bounds
  return [String(claimWaitMs), `${timeoutMs}ms`, `${timeoutMs + IDLE_MARGIN_MS}ms`]
}
