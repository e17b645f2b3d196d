import { table } from 'table'
import type { Row } from './rows.js'
import type { RowResult } from './runRow.js'

/** The rows, for `--list`. */
export function rowTable(rows: Row[]): string {
  const lines = rows.map(({ name, tries, packages, small }) => [
    name,
    tries,
    packages.join('\n'),
    small.length > 0 ? 'yes' : '',
  ])
  return table([['row', 'tries', 'installs', 'CI'], ...lines], { columns: { 1: { width: 40, wrapWord: true } } })
}

/** What the rows came to, each with all the versions that it had. */
export function resultTable(results: RowResult[]): string {
  const names = [...new Set(results.flatMap(({ versions }) => Object.keys(versions)))]
  const lines = results.map(({ name, versions, passed, failed, skipped, seconds, faults }) => [
    name,
    ...names.map((of) => versions[of] ?? ''),
    passed,
    failed,
    skipped,
    seconds,
    faults.length > 0 ? 'FAILED' : 'passed',
  ])
  return table([['row', ...names, 'passed', 'failed', 'skipped', 's', ''], ...lines])
}
