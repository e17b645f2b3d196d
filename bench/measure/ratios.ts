import { percentile } from './percentile.js'

/** One speed against another, of rounds that alternated. */
export interface Ratio {
  median: number
  least: number
  most: number
  rounds: number
}

/**
 * Compares round by round: what slowed the machine for a while slowed neighbouring rounds of both, and falls out.
 *
 * @param values of one lane, a number a round
 * @param against of the other, in the same order
 */
export function ratioOf(values: readonly number[], against: readonly number[]): Ratio {
  const ratios = values.map((value, round) => value / (against[round] ?? Number.NaN))
  return {
    median: percentile(ratios, 0.5),
    least: Math.min(...ratios),
    most: Math.max(...ratios),
    rounds: ratios.length,
  }
}

/** As in `0.93 (0.88 to 0.97)`. */
export function ratioText({ median, least, most }: Ratio): string {
  return `${median.toFixed(2)} (${least.toFixed(2)} to ${most.toFixed(2)})`
}
