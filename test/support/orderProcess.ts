import { type ChildProcess, fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import type { TransactionOptions } from 'trpc-idempotency/server'
import { onTestFinished } from 'vitest'

export interface OrderProcessOptions {
  /** Address of a barrier that every attempt passes before it claims. */
  barrierBeforeClaim?: string
  /** Address of a barrier that the handler passes after it has written. */
  barrierInHandler?: string
  /** Options of the library. */
  idempotency?: TransactionOptions
}

export interface OrderProcess {
  url: string
  /** SIGKILL: nothing of the process runs any more. Resolves when it is gone. */
  kill(): Promise<void>
  /** SIGSTOP: it holds all that it holds, and does nothing. */
  stop(): void
  /** SIGCONT: it goes on as if nothing had happened. */
  resume(): void
}

/** Starts a server of the mutation `create` as a process of its own; killed when the test ends. */
export async function startOrderProcess(databaseUrl: string, options: OrderProcessOptions = {}): Promise<OrderProcess> {
  const file = path.join(import.meta.dirname, 'processes/orderServer.ts')
  const child = fork(file, [databaseUrl, JSON.stringify(options)], { execArgv: ['--import', 'tsx'] })
  const kill = () => killed(child)
  onTestFinished(kill)
  const address = await new Promise<AddressInfo>((resolve, reject) => {
    child.once('message', (message) => resolve(message as AddressInfo))
    child.once('exit', (code) => reject(new Error(`the server process ended with ${code} before it listened`)))
  })
  return {
    url: `http://127.0.0.1:${address.port}`,
    kill,
    stop: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await exited
}
