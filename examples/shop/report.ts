import { table } from 'table'
import { ORDER } from './buyers.js'
import type { LaneCounts } from './lane.js'
import type { DemoOptions } from './options.js'

export interface DemoCounts {
  plain: LaneCounts
  idempotent: LaneCounts
}

/** The counts for a program. */
export function jsonReport({ plain, idempotent }: DemoCounts): string {
  // With a plain retry nobody promised equal answers.
  const { distinctAnswers: _, ...plainCounts } = plain
  return JSON.stringify({ plain: plainCounts, idempotent })
}

/** The counts for a person. */
export function tableReport({ plain, idempotent }: DemoCounts, { loss, twice, seed }: DemoOptions): string {
  const row = (label: string, count: (lane: LaneCounts) => string) => [label, count(plain), count(idempotent)]
  const rows = [
    ['', 'plain retry', 'idempotent'],
    row('orders that customers wanted (intents)', (lane) => whole(lane.intents)),
    row('HTTP requests that reached the server', (lane) => whole(lane.requests)),
    row('orders in the database', (lane) => whole(lane.orders)),
    row('customers charged twice or more often', (lane) => whole(lane.duplicates)),
    row('money charged too much', (lane) => money(lane.overcharged)),
    row('different answers to all these requests', (lane) => whole(lane.distinctAnswers)),
  ]
  const columns = [{ alignment: 'left' }, { alignment: 'right' }, { alignment: 'right' }] as const
  return [
    `Each customer orders once, for ${money(ORDER.cents)}. The network loses ${percent(loss)} of the replies, after the`,
    `server did the work, and delivers ${percent(twice)} of the requests twice. It did the same to`,
    `both columns, and does so again with --seed ${seed}.`,
    '',
    table(rows, { columns, drawHorizontalLine: (line, count) => line <= 1 || line === count }),
  ].join('\n')
}

/** What is wrong with the idempotent lane; `undefined` when it is exact. */
export function inexactness({ intents, orders, duplicates, distinctAnswers }: LaneCounts): string | undefined {
  if (orders === intents && duplicates === 0 && distinctAnswers === intents) return undefined
  return `The idempotent mutation was not exact: ${intents} intents made ${orders} orders (customers charged more than once: ${duplicates}; different answers: ${distinctAnswers}).`
}

function whole(count: number): string {
  return count.toLocaleString('en-US')
}

function money(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' })
}

function percent(part: number): string {
  return part.toLocaleString('en-US', { style: 'percent', maximumFractionDigits: 2 })
}
