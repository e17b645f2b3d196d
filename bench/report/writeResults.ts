import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Section } from '../section.js'

interface Results {
  machine: Record<string, string>
  /** How long all of it took. */
  seconds: number
  sections: Record<string, Section>
}

/** Writes RESULTS.md and RESULTS.json beside run.ts. */
export async function writeResults({ machine, seconds, sections }: Results): Promise<void> {
  const folder = path.resolve(import.meta.dirname, '..')
  const text = [
    '# Results',
    'Written by `npm run bench` ([how to read it](README.md)). Speeds are ratios, measured in one run on one machine; a figure in',
    'calls a second says something beside its neighbours alone.',
    '',
    ...Object.entries(machine).map(([name, value]) => `- ${name}: ${value}`),
    `- duration of the run: ${seconds} s`,
    ...Object.values(sections).map((section) => `\n## ${section.title}\n\n${section.text}`),
    '',
  ]
  const figures = Object.fromEntries(Object.entries(sections).map(([name, section]) => [name, section.figures]))
  await writeFile(path.join(folder, 'RESULTS.md'), text.join('\n'))
  await writeFile(path.join(folder, 'RESULTS.json'), `${JSON.stringify({ machine, seconds, figures }, null, 2)}\n`)
}
