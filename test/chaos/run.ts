import { optionsOrExit } from '../../examples/support/options.js'
import { runExample } from '../../examples/support/runExample.js'
import { HELP, readOptions } from './options.js'
import { complaint, jsonReport, tableReport, violationReport } from './report.js'
import { runChaos } from './runChaos.js'

const options = optionsOrExit(readOptions, HELP)
await runExample(async (run) => {
  const result = await runChaos(options, run)
  console.log(options.json ? jsonReport(result) : tableReport(result, options))
  for (const violation of result.violations) console.error(violationReport(violation))
  const wrong = complaint(result)
  if (wrong !== undefined) console.error(`${wrong} --seed ${options.seed} plans the same faults.`)
  return wrong === undefined ? 0 : 1
})
