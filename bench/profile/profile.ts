import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { callFor, firstCall } from '../peers/round.js'
import { ROWS, type RowName } from '../peers/rows.js'
import { startRow } from '../peers/startRow.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Bench, Section } from '../section.js'
import { byOwner, type Frame, stacksOf } from './cpuProfile.js'
import { flameGraph } from './flameGraph.js'

const PROFILED = ['bareTransaction', 'transaction', 'transactionPrepared'] as const satisfies RowName[]
const DRAWN = 'transactionPrepared'
const GRAPH = path.resolve(import.meta.dirname, '../flame-graph.svg')

/** Where the server's processor time goes, by package. Sampling costs some itself: compare shares, not sums. */
export async function profile(bench: Bench): Promise<Section> {
  const ms = bench.quick ? 500 : 4000
  const used: Partial<Record<RowName, Map<string, number>>> = {}
  for (const name of PROFILED) {
    const { stacks, calls } = await profiled(name, await bench.database(`profile_${name.toLowerCase()}`), ms)
    used[name] = new Map([...byOwner(stacks)].map(([owner, microseconds]) => [owner, microseconds / calls]))
    if (name === DRAWN && !bench.quick) await writeFile(GRAPH, flameGraph(stacks, 'The stacks of a first call'))
  }
  const owners = [...new Set(PROFILED.flatMap((name) => [...(used[name]?.keys() ?? [])]))]
  const most = (owner: string) => Math.max(...PROFILED.map((name) => used[name]?.get(owner) ?? 0))
  const text = [
    `Microseconds of the server's processor time for a first call, by the package whose code ran, in a sampled profile. \`node\` is Node.js`,
    'with its system calls: one write to a socket for each round trip and each answer. What Postgres does is in none of it.',
    '',
    markdownTable(
      ['', ...PROFILED.map((name) => ROWS[name].title)],
      owners
        .filter((owner) => most(owner) >= 3)
        .sort((a, b) => most(b) - most(a))
        .map((owner) => [owner, ...PROFILED.map((name) => (used[name]?.get(owner) ?? 0).toFixed(0))]),
    ),
    '',
    `![The stacks of a first call with \`withIdempotency\` and \`prepare\`](flame-graph.svg)`,
  ].join('\n')
  const figures = Object.fromEntries(PROFILED.map((name) => [name, Object.fromEntries(used[name] ?? [])]))
  return { title: 'Where the time goes', text, figures }
}

async function profiled(name: RowName, databaseUrl: string, ms: number): Promise<{ stacks: Frame; calls: number }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'bench-profile-'))
  try {
    const flags = ['--cpu-prof', `--cpu-prof-dir=${directory}`]
    const row = await startRow({ name, databaseUrl, redisUrl: '' }, flags)
    const call = async () => void (await firstCall(row))
    await callFor(ms / 2, call)
    const { took } = await callFor(ms, call)
    await row.stop()
    return { stacks: await stacksOf(directory, ms), calls: took.length }
  } finally {
    await rm(directory, { recursive: true })
  }
}
