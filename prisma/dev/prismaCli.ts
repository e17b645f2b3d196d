import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'
import process from 'node:process'

const repository = path.resolve(import.meta.dirname, '../..')

export interface PrismaRun {
  exitCode: number
  /** Standard output and standard error, as they came. */
  output: string
}

/** Runs this repository's Prisma CLI to its end, whatever its exit code. */
export function runPrisma(args: readonly string[], databaseUrl = ''): Promise<PrismaRun> {
  const cli = createRequire(import.meta.url).resolve('prisma/build/index.js')
  const env = { ...process.env, DATABASE_URL: databaseUrl, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' }
  return new Promise((resolve) => {
    execFile(process.execPath, [cli, ...args], { cwd: repository, env }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ exitCode, output: stdout + stderr })
    })
  })
}

/** Runs the Prisma CLI; a failure is thrown with everything that the CLI printed. */
export async function prisma(args: readonly string[], databaseUrl = ''): Promise<string> {
  const { exitCode, output } = await runPrisma(args, databaseUrl)
  if (exitCode !== 0) throw new Error(`prisma ${args.join(' ')} ended with exit code ${exitCode}:\n${output}`)
  return output
}
