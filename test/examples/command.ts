import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

const repository = path.resolve(import.meta.dirname, '../..')

export interface Ended {
  /** As a shell says it: 128 and the signal's number, where a signal ended the command. */
  exitCode: number
  stdout: string
  stderr: string
}

export interface Command {
  /** Waits until nobody can write to its output any more: the command and all that it started. */
  ended: Promise<Ended>
  /** Waits until it says something on standard error. */
  says(text: string): Promise<void>
  /** Waits until the folder of its Postgres is there. */
  makesPostgresFolder(): Promise<void>
  /** Sends a signal to the command alone. */
  kill(signal: NodeJS.Signals): void
  /** Sends SIGINT as a terminal does: to the command and everything that it started in the foreground. */
  pressCtrlC(): void
  /** The command and everything that it started, and that is alive now. */
  family(): Promise<Process[]>
  /** The folders that a Postgres of its own left behind. */
  postgresFolders(): string[]
}

/** Starts a command of the repository as a user would, with a folder of its own for temporary files. */
export function start(program: 'npm' | 'tsx', args: string[]): Command {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-example-'))
  // As root, Postgres runs as another user, who must be able to pass.
  chmodSync(folder, 0o755)
  const file = program === 'tsx' ? path.join(repository, 'node_modules/.bin/tsx') : program
  const child = spawn(file, args, {
    cwd: repository,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, which is what a terminal sends Ctrl-C to.
    detached: true,
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${program} did not start`)
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>
  const ended = closed.then(([code, signal]) => ({
    exitCode: signal === null ? (code ?? -1) : 128 + os.constants.signals[signal],
    stdout,
    stderr,
  }))
  const postgresFolders = () => readdirSync(folder).filter((name) => name.startsWith('trpc-idempotency-postgres-'))
  let lastSeen: Process[] = []
  onTestFinished(async () => {
    // Only a test that failed has left something.
    for (const one of await stillAlive(lastSeen)) process.kill(one.pid, 'SIGKILL')
    if (child.exitCode === null && child.signalCode === null) process.kill(-pid, 'SIGKILL')
    await closed
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    ended,
    says: (text) => until(() => stderr.includes(text), ended),
    makesPostgresFolder: () => until(() => postgresFolders().length > 0, ended),
    kill: (signal) => process.kill(pid, signal),
    pressCtrlC: () => process.kill(-pid, 'SIGINT'),
    async family() {
      lastSeen = familyOf(pid, await processes())
      return lastSeen
    },
    postgresFolders,
  }
}

export interface Process {
  pid: number
  parent: number
  command: string
}

/** Those of these processes that are still there. */
export async function stillAlive(family: Process[]): Promise<Process[]> {
  const now = await processes()
  return family.filter((one) => now.some(({ pid, command }) => pid === one.pid && command === one.command))
}

async function processes(): Promise<Process[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,stat=,args='])
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    // A zombie has ended; it is there until its parent, or whoever adopted it, takes notice.
    if (command === undefined || state?.startsWith('Z')) return []
    return [{ pid: Number(pid), parent: Number(parent), command }]
  })
}

function familyOf(pid: number, all: Process[]): Process[] {
  const self = all.filter((one) => one.pid === pid)
  const children = all.filter((one) => one.parent === pid)
  return [...self, ...children.flatMap((child) => familyOf(child.pid, all))]
}

/** Polls: what is waited for happens in another process. A command that ends before is a failure. */
async function until(condition: () => boolean, ended: Promise<Ended>): Promise<void> {
  let end: Ended | undefined
  void ended.then((value) => {
    end = value
  })
  while (!condition()) {
    if (end !== undefined) throw new Error(`It ended with exit code ${end.exitCode} before that:\n${end.stderr}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
