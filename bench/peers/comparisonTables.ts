import { inWords, spread } from '../measure/ratio.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Rounds } from './alternate.js'
import type { Counts } from './count.js'
import { ROW_NAMES, ROWS, type RowName } from './rows.js'
import type { Sizes } from './sizes.js'

type PerRow<Value> = Partial<Record<RowName, Value>>

/** How fast the rows are. */
export function speedTable(rounds: Rounds): string {
  const rows = ROW_NAMES.flatMap((name) => {
    const own = rounds[name]
    if (own === undefined) return []
    const median = (figure: 'first' | 'p50' | 'p99' | 'replays' | 'cpu') =>
      spread(own.map((round) => round[figure])).median
    return [
      [
        ROWS[name].title,
        inWords(spread(own.map(({ first, bare }) => first / bare.first))),
        ...[median('first').toFixed(0), median('p50').toFixed(1), median('p99').toFixed(1)],
        Number.isNaN(median('replays')) ? '' : median('replays').toFixed(0),
        median('cpu').toFixed(0),
      ],
    ]
  })
  return markdownTable(
    ['', 'first calls to bare', 'first calls/s', 'p50 ms', 'p99 ms', 'replays/s', 'CPU us/call'],
    rows,
  )
}

/** What the rows send, write, keep and promise. */
export function costTable(counts: PerRow<Counts>, kept: PerRow<Sizes>, keys: number): string {
  const trips = (value: Counts['trips'] | null | undefined) => {
    if (value === null || value === undefined) return ''
    return value.redis === 0 ? `${value.postgres}` : `${value.postgres} + ${value.redis} Redis`
  }
  const rows = ROW_NAMES.map((name) => {
    const { title, keyIn, redis, atomic } = ROWS[name]
    const [own, size] = [counts[name], kept[name]]
    const bytes =
      keyIn === 'none' ? ['', ''] : redis ? [`${size?.redis} Redis`, ''] : [`${size?.table}`, `${size?.index}`]
    return [
      title,
      atomic === null ? '' : atomic ? 'yes' : 'no',
      ...[trips(own?.trips), trips(own?.replayTrips), `${own?.wal}`, ...bytes],
      own?.twice ? `${own.twice.orders} / ${own.twice.answers}` : '',
    ]
  })
  return markdownTable(
    [
      '',
      'atomic with the business data',
      ...['round trips', 'of a replay', 'WAL bytes', 'bytes a key, table', 'index'],
      `orders / answers of ${keys} keys sent twice at once`,
    ],
    rows,
  )
}
