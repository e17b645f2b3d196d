import { inWords } from '../measure/ratio.js'
import { markdownTable } from '../report/markdownTable.js'
import type { Bench, Section } from '../section.js'
import { fingerprints } from './fingerprints.js'
import { measure } from './measure.js'
import { passThrough } from './passThrough.js'

/** What the library computes, without HTTP and without a database. */
export async function micro({ quick }: Bench): Promise<Section> {
  const plan = quick ? { rounds: 3, each: 2000 } : { rounds: 9, each: 20_000 }
  const costs = { ...(await measure(await passThrough(), plan)), ...(await measure(fingerprints(), plan)) }
  const rows = Object.entries(costs).map(([name, { microseconds, bytes }]) => [name, inWords(microseconds), `${bytes}`])
  return {
    title: 'In the process',
    text: markdownTable(['', 'microseconds', 'bytes allocated'], rows),
    figures: { plan, costs },
  }
}
