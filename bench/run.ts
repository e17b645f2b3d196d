import process from 'node:process'
import { parseArgs } from 'node:util'
import { machine } from './report/machine.js'
import { writeResults } from './report/writeResults.js'
import type { Section } from './section.js'
import { SECTIONS } from './sections.js'
import { startBench } from './startBench.js'

// npm run bench -- [--quick] [--only peers,micro]
const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } } })
const names = values.only?.split(',') ?? Object.keys(SECTIONS)
const unknown = names.filter((name) => !Object.hasOwn(SECTIONS, name))
if (unknown.length > 0) {
  console.error(`There is no section ${unknown.join(', ')}. The sections are ${Object.keys(SECTIONS).join(', ')}.`)
  process.exit(2)
}

const started = performance.now()
const bench = await startBench({ quick: values.quick })
const sections: Record<string, Section> = {}
try {
  for (const name of names) {
    const begun = performance.now()
    const section = await (await SECTIONS[name]?.())?.(bench)
    if (section !== undefined) sections[name] = section
    console.error(`${name}: ${seconds(begun)} s`)
    if (section !== undefined) console.log(`\n## ${section.title}\n\n${section.text}`)
  }
} finally {
  await bench.stop()
}
// Part of the results, or short rounds, would stand there as if they were the results.
if (values.quick || values.only !== undefined) console.error('Nothing is written: that was not the whole bench.')
else await writeResults({ machine: await machine(bench.postgresVersion), seconds: seconds(started), sections })

function seconds(since: number): number {
  return Math.round((performance.now() - since) / 1000)
}
