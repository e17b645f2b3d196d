import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Section } from '../section.js'

/** A section, and the run that it is of. */
export interface Measured extends Section {
  /** The day of the run, and how long this section took in it. */
  day: string
  seconds: number
}

interface Results {
  machine: Record<string, string>
  sections: Record<string, Measured>
}

const FOLDER = path.resolve(import.meta.dirname, '..')
const JSON_FILE = path.join(FOLDER, 'RESULTS.json')

/**
 * Writes RESULTS.md and RESULTS.json beside run.ts. Sections that were not measured again stay as they are, if they are of
 * this machine: every ratio is one of a section, and so of one run.
 *
 * @param order all sections, as they are to follow one another
 */
export async function writeResults({ machine, sections }: Results, order: readonly string[]): Promise<void> {
  const before = await readResults()
  const kept = isDeepStrictEqual(before?.machine, machine) ? (before?.sections ?? {}) : {}
  const all = { ...kept, ...sections }
  const results: Results = { machine, sections: {} }
  for (const name of order) if (all[name] !== undefined) results.sections[name] = all[name]
  const text = [
    '# Results',
    'Written by `npm run bench` ([how to read it](README.md)). Speeds are ratios, measured in one run on one machine; a figure in',
    'calls a second says something beside its neighbours alone.',
    '',
    ...Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`),
    ...Object.values(results.sections).map(
      (section) => `\n## ${section.title}\n\n${section.text}\n\nMeasured on ${section.day}, in ${section.seconds} s.`,
    ),
    '',
  ]
  await writeFile(path.join(FOLDER, 'RESULTS.md'), text.join('\n'))
  await writeFile(JSON_FILE, `${JSON.stringify(results, null, 2)}\n`)
}

async function readResults(): Promise<Results | undefined> {
  const text = await readFile(JSON_FILE, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as Results)
}
