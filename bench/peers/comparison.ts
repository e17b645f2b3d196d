import { spread } from '../measure/ratio.js'
import type { Bench, Section } from '../section.js'
import { alternate, type Rounds } from './alternate.js'
import { costTable, speedTable } from './comparisonTables.js'
import { type Counts, count } from './count.js'
import { overNetwork } from './network.js'
import type { RowName } from './rows.js'
import { databases } from './setUp.js'
import { type Sizes, sizes } from './sizes.js'
import { startRedis } from './startRedis.js'
import { targets, targetTable } from './targets.js'

/** The same mutation behind the same server: bare, with this library, by hand, and with its peers. */
export async function comparison(bench: Bench): Promise<Section> {
  const redis = await startRedis()
  try {
    const given = await databases(bench, redis)
    const plan = bench.quick
      ? { rounds: 3, warmUpRounds: 1, warmUpMs: 50, firstMs: 300, replayMs: 200 }
      : { rounds: 9, warmUpRounds: 3, warmUpMs: 50, firstMs: 400, replayMs: 250 }
    const near = await alternate(given, plan)
    const kept: Partial<Record<RowName, Sizes>> = {}
    for (const [name, own] of given) kept[name] = await sizes(own)
    const { rounds: far, pingMs } = await overNetwork(given, { ...plan, replayMs: 0 })
    const calls = bench.quick ? 50 : 200
    const counts: Partial<Record<RowName, Counts>> = {}
    for (const [name, own] of given) counts[name] = await count(name, own, calls)
    const reached = targets(near, far)
    const text = [
      `One \`order.create\` (an insert), behind tRPC's HTTP server, which is a process of its own for each row, with a pool of 10`,
      `(DBOS has another 10). 8 callers in another process, on connections that stay open. Each row by turns with the bare interactive`,
      `transaction, to which its ratios are: ${plan.rounds} rounds of ${plan.firstMs} ms of first calls and ${plan.replayMs} ms of replays, after ${plan.warmUpRounds} that do`,
      'not count. Medians; in brackets the least and the most of the rounds. The Redis rows and lease mode do the bare create. CPU',
      'is that of the server. A replay comes as the link',
      'sends it, as a second attempt.',
      '',
      speedTable(near),
      '',
      'Counted in a pass without a clock, with one caller. Redis keeps nothing on disk here: a crash of it forgets every key.',
      '`by hand: check, then act` is in one transaction with a unique key, so the second of two at once fails; in the Redis rows',
      'what fails was told that the first is still running, and may be sent again.',
      '',
      costTable(counts, kept, calls),
      '',
      `### With a network to the database`,
      '',
      `A relay in another process passes on what is asked 1 ms later: \`select 1\` takes ${pingMs.through.toFixed(2)} ms through it and`,
      `${pingMs.without.toFixed(2)} ms without.`,
      '',
      speedTable(far),
      '',
      '### Targets',
      '',
      targetTable(reached),
    ].join('\n')
    return {
      title: 'Peers',
      text,
      figures: { plan, near: spreads(near), far: spreads(far), pingMs, counts, kept, targets: reached },
    }
  } finally {
    await redis.stop()
  }
}

const FIGURES = ['first', 'p50', 'p99', 'cpu', 'replays'] as const

/** What the rounds of each row come to. */
function spreads(rounds: Rounds): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(rounds).map(([name, own]) => [
      name,
      {
        toBare: spread(own.map(({ first, bare }) => first / bare.first)),
        ...Object.fromEntries(FIGURES.map((figure) => [figure, spread(own.map((round) => round[figure]))])),
      },
    ]),
  )
}
