import { fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import process from 'node:process'
import { type Caller, createCaller } from './caller.js'
import type { CpuReport, RowOrder } from './rowProcess.js'
import { ROWS } from './rows.js'

export interface RunningRow extends Caller {
  /** The processor time that its server has used so far, in microseconds. */
  cpu(): Promise<number>
  stop(): Promise<void>
}

/**
 * Starts the server of one row in a process of its own: what one row allocates or compiles is not another's to carry.
 *
 * @param flags of Node.js
 */
export async function startRow(order: RowOrder, flags: readonly string[] = []): Promise<RunningRow> {
  const execArgv = [...process.execArgv, ...flags]
  const child = fork(path.join(import.meta.dirname, 'rowProcess.ts'), [JSON.stringify(order)], { execArgv })
  const exited = once(child, 'exit')
  const [ready] = (await Promise.race([once(child, 'message'), exited])) as [{ url: string } | number]
  if (typeof ready !== 'object') throw new Error(`the server of ${order.name} did not start`)
  const caller = createCaller(ready.url, ROWS[order.name].keyIn)
  return {
    ...caller,
    async cpu() {
      child.send('cpu')
      const [report] = (await once(child, 'message')) as [CpuReport]
      return report.cpu
    },
    async stop() {
      caller.close()
      child.disconnect()
      await exited
    },
  }
}
