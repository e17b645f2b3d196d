import { table } from 'table'
import type { Ledger } from './ledger.js'
import type { PaymentsOptions } from './options.js'

/** What happened while the customers checked out. */
export interface Story {
  calls: number
  unanswered: number
  kills: number
}

/** The ledger for a program. */
export function jsonReport({ intents, charges, paid, takeovers }: Ledger): string {
  return JSON.stringify({ intents, charges, paid, takeovers })
}

/** The ledger for a person. */
export function tableReport(ledger: Ledger, { calls, unanswered, kills }: Story, { seed }: PaymentsOptions): string {
  const rows = [
    ['checkouts that customers wanted (intents)', ledger.intents],
    ['charges at the provider (charges)', ledger.charges],
    ['payments in the database (paid)', ledger.paid],
    ['attempts that went on after another (takeovers)', ledger.takeovers],
  ]
  const columns = [{ alignment: 'left' }, { alignment: 'right' }] as const
  return [
    `The provider was called ${calls} times; ${unanswered} times it charged, or had charged, and did not answer.`,
    `${kills} times the server that was charging was killed. --seed ${seed} plans the same faults and kills.`,
    '',
    table(rows, { columns, drawHorizontalLine: (line, count) => line === 0 || line === count }),
  ].join('\n')
}

/** What is wrong with the ledger; `undefined` when it is exact. */
export function inexactness({ intents, charges, paid }: Ledger): string | undefined {
  if (charges === intents && paid === intents) return undefined
  return `The checkout was not exact: ${intents} intents made ${charges} charges and ${paid} payments.`
}
