import process from 'node:process'
import { parseArgs } from 'node:util'
import { machine } from './report/machine.js'
import { type Measured, writeResults } from './report/writeResults.js'
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

const bench = await startBench({ quick: values.quick })
const sections: Record<string, Measured> = {}
try {
  for (const name of names) {
    const begun = performance.now()
    const section = await (await SECTIONS[name]?.())?.(bench)
    if (section === undefined) continue
    const seconds = Math.round((performance.now() - begun) / 1000)
    sections[name] = { ...section, seconds, day: new Date().toISOString().slice(0, 10) }
    console.error(`${name}: ${seconds} s`)
    console.log(`\n## ${section.title}\n\n${section.text}`)
  }
} finally {
  await bench.stop()
}
// Short rounds would stand there as if they were the results.
if (values.quick) console.error('Nothing is written: those were short rounds.')
else await writeResults({ machine: await machine(bench.postgresVersion), sections }, Object.keys(SECTIONS))
