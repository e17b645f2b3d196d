import { type ChildProcess, fork } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { onTestFinished } from 'vitest'

/** A server that runs as a process of its own. */
export interface ServerProcess {
  url: string
  /** SIGKILL: nothing of the process runs any more. Resolves when it is gone. */
  kill(): Promise<void>
  /** SIGSTOP: it holds all that it holds, and does nothing. */
  stop(): void
  /** SIGCONT: it goes on as if nothing had happened. */
  resume(): void
}

/** Starts a program of `processes/`, which tells where it listens; killed when the test ends. */
export async function startServerProcess(program: string, args: readonly string[]): Promise<ServerProcess> {
  const file = path.join(import.meta.dirname, 'processes', program)
  const child = fork(file, args, { execArgv: ['--import', 'tsx'] })
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
