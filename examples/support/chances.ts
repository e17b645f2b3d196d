import { createHash } from 'node:crypto'

/**
 * Three independent numbers, even over [0, 1), that depend on the seed and on what they are for, and on nothing else: in
 * whatever order things happen, a seed repeats what chance does to them.
 */
export function chances(seed: number, what: string): [number, number, number] {
  const digest = createHash('sha256').update(`${seed}/${what}`).digest()
  const at = (offset: number) => digest.readUInt32BE(offset) / 2 ** 32
  return [at(0), at(4), at(8)]
}
