import { table } from 'table'
import type { Violation } from './checker/check.js'
import type { ChaosOptions } from './options.js'
import type { ChaosResult } from './runChaos.js'

/** The counts for a program. */
export function jsonReport({ counts, kills, faults, violations }: ChaosResult): string {
  const { acknowledged: intents, unknownResolved } = counts
  return JSON.stringify({ intents, kills, faults, unknownResolved, violations: violations.length })
}

/** The counts for a person. */
export function tableReport(result: ChaosResult, { minutes, seed }: ChaosOptions): string {
  const { counts, kills, swept, attempts, deliveries, faults, violations } = result
  const rows = [
    ['intents that were acknowledged (intents)', counts.acknowledged],
    ['  of them unknown for a while (unknownResolved)', counts.unknownResolved],
    ['  of them sent once more later', counts.sentAgain],
    ['intents that were left, known to be not executed', counts.left],
    ['intents whose keys were swept before any answer', counts.forgotten],
    ['attempts of clients', attempts],
    ['requests that reached a server, copies included', deliveries],
    ['keys that were swept', swept],
    ['server processes killed (kills)', kills],
    ...Object.entries(faults).map(([kind, count]) => [`fault: ${kind}`, count]),
    ['promises that do not hold (violations)', violations.length],
  ]
  const columns = [{ alignment: 'left' }, { alignment: 'right' }] as const
  return [
    `Things went wrong for ${minutes} minutes; --seed ${seed} plans the same faults.`,
    '',
    table(rows, { columns, drawHorizontalLine: (line, count) => line === 0 || line === count }),
  ].join('\n')
}

/** A violation with its history, for a person. */
export function violationReport({ rule, intent, sentence, history }: Violation): string {
  return [`Intent ${intent} (${rule}): ${sentence}.`, ...history.map((line) => `  ${line}`), ''].join('\n')
}

/** Why a run failed; `undefined` where it did not. */
export function complaint({ counts, violations }: ChaosResult): string | undefined {
  if (violations.length > 0) return `${violations.length} promises do not hold.`
  return counts.acknowledged === 0 ? 'Nothing was acknowledged, so nothing was tried.' : undefined
}
