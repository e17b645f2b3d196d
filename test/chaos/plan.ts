import { chances } from '../../examples/support/chances.js'

/** What happens to a whole process. */
export type PlannedDisaster = { atMs: number } & (
  | { kind: 'kill'; server: number }
  | { kind: 'stop'; server: number; forMs: number }
  | { kind: 'starve'; server: number; forMs: number }
  | { kind: 'partition'; forMs: number }
  | { kind: 'crash' }
)

/** How many servers there are at a time. */
export const SERVERS = 3

/**
 * One of a kind in each of these spans, in ms. A kill each 2.4 seconds is 250 in ten minutes; a server starts in a
 * fraction of that. Postgres recovers within a second, in which nothing is done.
 */
const SPANS = { kill: 2400, stop: 6000, partition: 6000, starve: 8000, crash: 20_000 } as const

/** Longer than a transaction or a lease lasts without a word, and, most of the time, shorter. */
const LONGEST_STOP_MS = 3500
/** Longer than anybody waits for a connection. */
const LONGEST_STARVATION_MS = 1500
/** Longer than a transaction is tried again. */
const LONGEST_PARTITION_MS = 800

/** Everything that happens to processes during a run, in order of time. It depends on nothing but its arguments. */
export function planDisasters({ seed, minutes }: { seed: number; minutes: number }): PlannedDisaster[] {
  const series = <Kind extends keyof typeof SPANS>(kind: Kind) => {
    const span = SPANS[kind]
    // A short run has one of each kind, too.
    const count = Math.max(1, Math.floor((minutes * 60_000) / span))
    return Array.from({ length: count }, (_, index) => {
      const [forTime, forServer, forLength] = chances(seed, `${kind}/${index}`)
      const atMs = (index + forTime) * Math.min(span, minutes * 60_000)
      return { kind, atMs, server: Math.floor(forServer * SERVERS), forLength }
    })
  }
  return [
    ...series('kill').map(({ kind, atMs, server }) => ({ kind, atMs, server })),
    // Squared: most are short.
    ...series('stop').map(({ forLength, ...stop }) => ({ ...stop, forMs: forLength ** 2 * LONGEST_STOP_MS })),
    ...series('starve').map(({ forLength, ...starve }) => ({ ...starve, forMs: forLength * LONGEST_STARVATION_MS })),
    ...series('partition').map(({ kind, atMs, forLength }) => ({
      kind,
      atMs,
      forMs: forLength * LONGEST_PARTITION_MS,
    })),
    ...series('crash').map(({ kind, atMs }) => ({ kind, atMs })),
  ].sort((one, other) => one.atMs - other.atMs)
}
