import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { percentile } from '../measure/percentile.js'
import { inWords, ratio } from '../measure/ratio.js'
import type { Bench, Section } from '../section.js'
import type { Lane } from './answering.js'
import type { LoopOrder, LoopReport } from './linkLoop.js'

/** What the link costs in the browser, as far as Node.js can tell: the same engine as Chromium's, and no network. */
export async function linkCost({ quick }: Pick<Bench, 'quick'>): Promise<Section> {
  const calls = quick ? 2000 : 10_000
  const million = quick ? 100_000 : 1_000_000
  const cost = await compare({ measure: 'cost', rounds: quick ? 3 : 11, calls })
  const allocations = await compare({ measure: 'allocations', rounds: 5, calls }, WITHOUT_COLLECTION)
  const heaps = (await loop({ measure: 'memory', rounds: 10, calls: million / 10 }, ['--expose-gc'])) as number[]
  // The first tenth makes what is made once.
  const [first, last] = [heaps[0] ?? Number.NaN, heaps.at(-1) ?? Number.NaN]

  const microseconds = medians(cost)
  const bytes = medians(allocations)
  const more = (values: Record<Lane, number>, lane: Lane) => (values[lane] - values.none).toFixed(1)
  const row = (name: string, lane: Lane) =>
    `| ${name} | ${microseconds[lane].toFixed(1)} | ${more(microseconds, lane)} | ${inWords(ratio(cost[lane], cost.none))} | ${bytes[lane].toFixed(0)} | ${more(bytes, lane)} |`
  return {
    title: 'The link, a call',
    text: [
      "tRPC's client over an ending link that answers at once, in Node.js; medians of alternating rounds. Microseconds are",
      'of processor time.',
      '',
      '| links | µs a call | more than without | ratio | bytes allocated a call | more than without |',
      '| --- | --- | --- | --- | --- | --- |',
      row('no link', 'none'),
      row('ours; the first attempt is answered', 'link'),
      row('ours; the first attempt fails, the second is answered', 'linkRetried'),
      '',
      `Over ${million} calls, every second of them sent twice: after a tenth of them and a collection the heap was ${first} bytes, at the`,
      `end ${last} (${last > first ? 'grown' : 'shrunk'} by ${Math.abs(last - first)}).`,
    ].join('\n'),
    figures: { microseconds, bytes, heaps, growth: last - first },
  }
}

/** The young generation takes all of a round, so that what the heap has gained is what was allocated. */
const WITHOUT_COLLECTION = ['--expose-gc', '--min-semi-space-size=512', '--max-semi-space-size=512']

async function compare(order: LoopOrder, flags?: string[]): Promise<Record<Lane, number[]>> {
  return (await loop(order, flags)) as Record<Lane, number[]>
}

async function loop(order: LoopOrder, flags: string[] = []): Promise<LoopReport> {
  const child = fork(path.join(import.meta.dirname, 'linkLoop.ts'), [JSON.stringify(order)], {
    execArgv: ['--import', 'tsx', ...flags],
  })
  const exited = once(child, 'exit')
  const [report] = (await Promise.race([once(child, 'message'), exited])) as [LoopReport | number]
  if (typeof report === 'number') throw new Error(`the loop ended with ${report} before it reported`)
  await exited
  return report
}

function medians(rounds: Record<Lane, number[]>): Record<Lane, number> {
  return {
    none: percentile(rounds.none, 0.5),
    link: percentile(rounds.link, 0.5),
    linkRetried: percentile(rounds.linkRetried, 0.5),
  }
}
