import { inWords, ratio, type Spread, spread } from '../measure/ratio.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Rounds } from './alternate.js'
import type { RowName } from './rows.js'

export interface Target {
  name: string
  ratio: Spread
  bound: string
  reached: boolean
}

/**
 * What was aimed at, and whether the median of the rounds' ratios reached it. Two rows are compared by what each is to the
 * bare transaction right before it.
 */
export function targets(near: Rounds, far: Rounds): Target[] {
  const toBare = (rounds: Rounds, name: RowName, figure: 'first' | 'p99' | 'replays') =>
    (rounds[name] ?? []).map((round) => round[figure] / round.bare[figure === 'replays' ? 'first' : figure])
  const first = (name: RowName) => toBare(near, name, 'first')
  const farFirst = (name: RowName) => toBare(far, name, 'first')
  const replays = (name: RowName) => toBare(near, name, 'replays')
  const p99 = (name: RowName) => toBare(near, name, 'p99')
  return [
    atLeast(0.6, 'transaction mode to a bare transaction', spread(first('transaction'))),
    atLeast(0.8, 'with `withIdempotency`, to a bare transaction', spread(first('transactionWithWrapper'))),
    atLeast(0.8, 'with `withIdempotency` and `prepare`, to a bare transaction', spread(first('transactionPrepared'))),
    atLeast(3, 'transaction mode to DBOS', ratio(first('transaction'), first('dbos'))),
    atLeast(
      0.9,
      'with `withIdempotency` and 1 ms of network to the database, to a bare transaction',
      spread(farFirst('transactionWithWrapper')),
    ),
    atLeast(
      0.9,
      'with `prepare` as well and 1 ms of network, to a bare transaction',
      spread(farFirst('transactionPrepared')),
    ),
    atLeast(3, 'replays to first calls', ratio(replays('transaction'), first('transaction'))),
    atLeast(
      3,
      'replays to first calls, with `withIdempotency`',
      ratio(replays('transactionWithWrapper'), first('transactionWithWrapper')),
    ),
    atLeast(
      3,
      'replays to first calls, with `withIdempotency` and `prepare`',
      ratio(replays('transactionPrepared'), first('transactionPrepared')),
    ),
    atLeast(5, "replays to DBOS's replays", ratio(replays('transaction'), replays('dbos'))),
    atLeast(
      5,
      "replays with `withIdempotency` and `prepare` to DBOS's replays",
      ratio(replays('transactionPrepared'), replays('dbos')),
    ),
    atMost(2, 'p99 to that of a bare transaction', spread(p99('transaction'))),
    atMost(2, 'p99 to that of a bare transaction, with `withIdempotency`', spread(p99('transactionWithWrapper'))),
  ]
}

function atLeast(bound: number, name: string, value: Spread): Target {
  return { name, ratio: value, bound: `>= ${bound.toFixed(2)}`, reached: value.median >= bound }
}

function atMost(bound: number, name: string, value: Spread): Target {
  return { name, ratio: value, bound: `<= ${bound.toFixed(2)}`, reached: value.median <= bound }
}

export function targetTable(all: readonly Target[]): string {
  return markdownTable(
    ['target', 'bound', 'median (spread)', 'reached'],
    all.map(({ name, bound, ratio: value, reached }) => [name, bound, inWords(value), reached ? 'yes' : '**no**']),
  )
}
