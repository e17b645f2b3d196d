import { execFile } from 'node:child_process'
import os from 'node:os'
import process from 'node:process'
import { promisify } from 'node:util'

/** What the figures were measured on. */
export async function machine(postgres: string): Promise<Record<string, string>> {
  const [cpu] = os.cpus()
  return {
    cpu: `${os.cpus().length} x ${cpu?.model.trim() ?? 'unknown'}`,
    memory: `${Math.round(os.totalmem() / 2 ** 30)} GiB`,
    system: `${os.type()} ${os.release()}, ${os.arch()}`,
    node: process.version,
    postgres: `${postgres}, embedded, fsync on`,
    redis: await redisVersion(),
  }
}

async function redisVersion(): Promise<string> {
  const { stdout } = await promisify(execFile)('redis-server', ['--version']).catch(() => ({ stdout: '' }))
  return /v=(\S+)/.exec(stdout)?.[1] ?? 'none'
}
