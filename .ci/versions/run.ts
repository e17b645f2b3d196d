import { execFile, spawn } from 'node:child_process'
import { open } from 'node:fs/promises'
import { promisify } from 'node:util'

/** A program and its arguments. */
export type Program = string[]

export interface Within {
  cwd: string
  env: Record<string, string | undefined>
  /** The file that the program's output is added to. */
  log: string
  signal: AbortSignal
}

/** What hangs for this long will not end: the slowest row takes a quarter of it. */
const TIMEOUT_MS = 45 * 60_000

/** Runs a program to its end; its exit code, -1 where a signal ended it. */
export async function run([program = '', ...args]: Program, { cwd, env, log, signal }: Within): Promise<number> {
  const file = await open(log, 'a')
  try {
    await file.write(`\n== ${[program, ...args].join(' ')}\n`)
    const stdio = ['ignore', file.fd, file.fd] as const
    const child = spawn(program, args, { cwd, env, signal, stdio: [...stdio], timeout: TIMEOUT_MS })
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once('exit', (code) => resolve(code ?? -1))
      // An abort is an error at once, and an exit later: wait for that.
      child.on('error', (error) => error.name === 'AbortError' || reject(error))
    })
    signal.throwIfAborted()
    return exitCode
  } finally {
    await file.close()
  }
}

/** What a program prints; thrown where it fails. */
export async function outputOf(
  [program = '', ...args]: Program,
  { cwd, env }: Pick<Within, 'cwd' | 'env'>,
): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
