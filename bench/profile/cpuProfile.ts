import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

/** A call in the tree of all stacks that were sampled. */
export interface Frame {
  name: string
  /** The package that it is of: `trpc-idempotency` for the library itself, `node` for Node.js and what it is made of. */
  owner: string
  /** Microseconds of itself and of all that it called. */
  total: number
  self: number
  called: Frame[]
}

/** The part of V8's format that is read. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string }; children?: number[] }[]
  samples: number[]
  /** Microseconds since the sample before. */
  timeDeltas: number[]
}

/**
 * The tree of the last `ms` of a process that ran with `--cpu-prof` and `--cpu-prof-dir`, without the time in which it had
 * nothing to do. Calls of one function from one place are one frame.
 */
export async function stacksOf(directory: string, ms: number): Promise<Frame> {
  // The thread of the program is number 0; others load its modules.
  const file = (await readdir(directory)).find((name) => /^CPU\.\d+\.\d+\.\d+\.0\./.test(name))
  if (file === undefined) throw new Error(`there is no profile in ${directory}`)
  const profile = JSON.parse(await readFile(path.join(directory, file), 'utf8')) as CpuProfile
  const selfOf = selfTimes(profile, ms * 1000)
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]))
  const frameOf = (id: number): Frame | undefined => {
    const node = nodes.get(id)
    if (node === undefined || IDLE.has(node.callFrame.functionName)) return undefined
    const called = merged((node.children ?? []).flatMap((child) => frameOf(child) ?? []))
    const self = selfOf.get(id) ?? 0
    const total = self + called.reduce((sum, frame) => sum + frame.total, 0)
    const { functionName, url } = node.callFrame
    return { name: functionName || '(anonymous)', owner: ownerOf(url), self, total, called }
  }
  const root = frameOf(profile.nodes[0]?.id ?? 0)
  if (root === undefined) throw new Error(`the profile in ${directory} is empty`)
  return root
}

/** What each package used by itself, in microseconds. */
export function byOwner(root: Frame): Map<string, number> {
  const used = new Map<string, number>()
  const visit = ({ owner, self, called }: Frame) => {
    used.set(owner, (used.get(owner) ?? 0) + self)
    for (const frame of called) visit(frame)
  }
  visit(root)
  return used
}

const IDLE = new Set(['(idle)', '(program)'])

function selfTimes({ samples, timeDeltas }: CpuProfile, lastMicroseconds: number): Map<number, number> {
  const selfOf = new Map<number, number>()
  let left = lastMicroseconds
  for (let at = samples.length - 1; at >= 0 && left > 0; at -= 1) {
    const [id = 0, took = 0] = [samples[at], timeDeltas[at]]
    selfOf.set(id, (selfOf.get(id) ?? 0) + took)
    left -= took
  }
  return selfOf
}

function merged(frames: readonly Frame[]): Frame[] {
  const byName = new Map<string, Frame>()
  for (const frame of frames) {
    const key = `${frame.owner} ${frame.name}`
    const known = byName.get(key)
    if (known === undefined) byName.set(key, frame)
    else {
      known.self += frame.self
      known.total += frame.total
      known.called = merged([...known.called, ...frame.called])
    }
  }
  return [...byName.values()].filter(({ total }) => total > 0).sort((a, b) => b.total - a.total)
}

function ownerOf(url: string): string {
  const packaged = [...url.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].at(-1)?.[1]
  if (packaged !== undefined) return packaged
  if (/\/dist\/(server|wire)\//.test(url)) return 'trpc-idempotency'
  return url.startsWith('file:') ? 'the bench' : 'node'
}
