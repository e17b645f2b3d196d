import { percentile } from './percentile.js'

/** What several rounds say of one figure. */
export interface Spread {
  median: number
  min: number
  max: number
}

export function spread(values: readonly number[]): Spread {
  return { median: percentile(values, 0.5), min: Math.min(...values), max: Math.max(...values) }
}

/** Round by round: what the machine did meanwhile hits both sides of a ratio. */
export function ratio(of: readonly number[], to: readonly number[]): Spread {
  return spread(of.map((value, round) => value / (to[round] ?? Number.NaN)))
}

/** `0.83 (0.79 to 0.88)` */
export function inWords({ median, min, max }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`
}
