/** Counts what went wrong, by kind. */
export interface Tally {
  count(kind: string): void
  counts(): Record<string, number>
}

export function createTally(): Tally {
  const counts = new Map<string, number>()
  return {
    count: (kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1),
    counts: () => Object.fromEntries([...counts].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}
