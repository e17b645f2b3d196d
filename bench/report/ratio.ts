/** What several rounds say of one figure. */
export interface Spread {
  median: number
  min: number
  max: number
}

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  return {
    median: quantile(sorted, 0.5),
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  }
}

/** Round by round: what the machine did meanwhile hits both sides of a ratio. */
export function ratio(of: readonly number[], to: readonly number[]): Spread {
  return spread(of.map((value, round) => value / (to[round] ?? Number.NaN)))
}

/** @param sorted in ascending order */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** `0.83 (0.79 to 0.88)` */
export function inWords({ median, min, max }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`
}
