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

// Short rounds would stand there as if they were the results.
if (values.quick) console.error('Nothing will be written: these are short rounds.')
const bench = await startBench({ quick: values.quick })
try {
  for (const name of names) {
    const begun = performance.now()
    const section = await (await SECTIONS[name]?.())?.(bench)
    if (section === undefined) continue
    const seconds = Math.round((performance.now() - begun) / 1000)
    console.log(`\n## ${section.title}\n\n${section.text}\n\n(${seconds} s)`)
    if (values.quick) continue
    const measured: Measured = { ...section, seconds, day: new Date().toISOString().slice(0, 10) }
    // At once, so that a section that fails takes none before it along.
    await writeResults(
      { machine: await machine(bench.postgresVersion), sections: { [name]: measured } },
      Object.keys(SECTIONS),
    )
  }
} finally {
  await bench.stop()
}
