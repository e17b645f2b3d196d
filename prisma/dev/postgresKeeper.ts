import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { findPrograms, type User, unprivilegedUser } from './postgresPrograms.js'

/** What the keeper tells the process that started it, once: where the server listens, or why it does not. */
export type KeeperReport = { port: number } | { problem: string }

// This file is a program: it keeps one Postgres for as long as the process that forked it holds the channel open. A
// process that is killed can clean nothing up, but its channel closes.
const told = Promise.race([once(process, 'disconnect'), once(process, 'SIGTERM')])
try {
  await keep(JSON.parse(process.argv[2] ?? '{}') as Record<string, string>)
} catch (error) {
  tell({ problem: String(error) })
}
if (process.connected) process.disconnect()

async function keep(settings: Record<string, string>): Promise<void> {
  const programs = await findPrograms()
  const user = unprivilegedUser(programs.postgres)
  const folder = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-postgres-'))
  try {
    if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
    const dataFolder = path.join(folder, 'data')
    initialise(programs.initdb, dataFolder, user)
    if (!process.connected) return
    await serve({ program: programs.postgres, dataFolder, user, settings })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Serving {
  program: string
  dataFolder: string
  user: User
  settings: Record<string, string>
}

/** Runs the server until we are told to stop it, or it ends by itself. */
async function serve({ program, dataFolder, user, settings }: Serving): Promise<void> {
  const port = await freePort()
  const options = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // The folder never outlives the keeper, so there is nothing that fsync could save.
    fsync: 'off',
    ...settings,
  }
  const [file, args] = user.command(program, [
    '-D',
    dataFolder,
    ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ])
  const server = spawn(file, args, { ...user.identity, stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  await isReady(server)
  tell({ port })
  await Promise.race([told, exited])
  server.kill('SIGINT') // a fast shutdown: it ends the sessions first
  await exited
}

function tell(report: KeeperReport): void {
  // The parent may be gone; then there is nobody to tell, and that is no error.
  if (process.connected) process.send?.(report, () => undefined)
}

function initialise(initdb: string, dataFolder: string, user: User): void {
  const [program, args] = user.command(initdb, [
    ...['-D', dataFolder, '-U', 'postgres', '-A', 'trust'],
    ...['-E', 'UTF8', '--locale=C', '--no-sync'],
  ])
  const { status, stderr, error } = spawnSync(program, args, { ...user.identity, encoding: 'utf8' })
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr}`)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

function isReady(server: ReturnType<typeof spawn>): Promise<void> {
  let log = ''
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('exit', () => reject(new Error(`Postgres did not start:\n${log}`)))
    server.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-8000)
      if (log.includes('ready to accept connections')) resolve()
    })
  })
}
