import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { BadOption, HELP, readOptions } from './options.js'
import { ROWS, type Row } from './rows.js'
import { type RowResult, runRow } from './runRow.js'
import { resultTable, rowTable } from './tables.js'

const asked = readOrExit()
switch (asked.kind) {
  case 'help':
    console.log(HELP)
    break
  case 'list':
    console.log(rowTable(ROWS))
    break
  case 'run':
    process.exitCode = await runRows(asked.rows)
}

/** One row after the other: two would share the processor, and the tests would wait for each other. */
async function runRows(rows: Row[]): Promise<number> {
  const stopped = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopped.abort())
  const logs = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-matrix-'))
  const results: RowResult[] = []
  for (const row of rows) {
    console.log(`${row.name}: ${row.tests.join(' ')}`)
    const log = path.join(logs, `${row.name}.log`)
    const result = await runRow(row, { log, signal: stopped.signal }).catch((error: unknown) => {
      if (!stopped.signal.aborted) throw error
    })
    if (result === undefined) break
    for (const fault of result.faults) console.log(`  ${fault}`)
    if (result.faults.length > 0) console.log(`  Its output is in ${log}`)
    results.push(result)
  }
  console.log(`\n${resultTable(results)}`)
  const failed = results.some(({ faults }) => faults.length > 0)
  if (!failed) rmSync(logs, { recursive: true })
  return failed || stopped.signal.aborted ? 1 : 0
}

function readOrExit() {
  try {
    return readOptions(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof BadOption)) throw error
    console.error(error.message)
    process.exit(2)
  }
}
