import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import { findPrograms, type Programs, type User, unprivilegedUser } from './postgresPrograms.js'

/** Which server to keep. */
export interface KeeperOrder {
  /** By name, over the defaults below. */
  settings: Record<string, string>
  /** Whether a copy of the data folder is made before the first start, with which standbys can begin. */
  keepsSeed: boolean
  /** Such a copy: the server is a standby, and follows from there. */
  seed: string | null
}

/** What the keeper tells the process that started it, each time that the server was started: about it, or why there is none. */
export type KeeperReport = { port: number; pid: number; seed: string | null } | { problem: string }

/** What the keeper can be told later: to crash the server and to start it again. */
export type KeeperWord = 'restart'

// This file is a program: it keeps one Postgres for as long as the process that forked it holds the channel open. A
// process that is killed can clean nothing up, but its channel closes.
const told = Promise.race([once(process, 'disconnect'), once(process, 'SIGTERM')])
try {
  await keep(JSON.parse(process.argv[2] ?? '{}') as KeeperOrder)
} catch (error) {
  tell({ problem: String(error) })
}
if (process.connected) process.disconnect()

async function keep({ settings, keepsSeed, seed }: KeeperOrder): Promise<void> {
  const programs = await findPrograms()
  const user = unprivilegedUser(programs.postgres)
  const folder = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-postgres-'))
  try {
    if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
    const dataFolder = path.join(folder, 'data')
    if (seed === null) initialise(programs.initdb, dataFolder, user)
    else beginAsStandby(dataFolder, seed, user)
    if (!process.connected) return
    const ownSeed = keepsSeed ? path.join(folder, 'seed') : null
    if (ownSeed !== null) cpSync(dataFolder, ownSeed, { recursive: true })
    await serve({ programs, dataFolder, user, settings, ownSeed })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Serving {
  programs: Programs
  dataFolder: string
  user: User
  settings: Record<string, string>
  ownSeed: string | null
}

/** Runs the server until we are told to stop it, or it ends by itself. */
async function serve({ programs, dataFolder, user, settings, ownSeed }: Serving): Promise<void> {
  const port = await freePort()
  const options = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // The folder never outlives the keeper, so there is nothing that fsync could save: an immediate shutdown ends the
    // processes, and what they have written stays with the operating system.
    fsync: 'off',
    ...settings,
  }
  const args = ['-D', dataFolder, ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  for (;;) {
    const [file, command] = user.command(programs.postgres, args)
    const server = spawn(file, command, { ...user.identity, stdio: ['ignore', 'ignore', 'pipe'] })
    const exited = new Promise<'exited'>((resolve) => server.once('exit', () => resolve('exited')))
    await isReady(server)
    const crash = toldToRestart()
    if (server.pid === undefined) throw new Error('Postgres has no process')
    tell({ port, pid: server.pid, seed: ownSeed })
    const end = await Promise.race([told, exited, crash])
    if (end === 'restart') stopAtOnce({ programs, dataFolder, user })
    else server.kill('SIGINT') // a fast shutdown: it ends the sessions first
    await exited
    if (end !== 'restart') return
  }
}

function toldToRestart(): Promise<KeeperWord> {
  return new Promise((resolve) => {
    process.once('message', (word: KeeperWord) => resolve(word))
  })
}

/** As in a crash: nobody is asked, nothing is written, and the next start has to recover. */
function stopAtOnce({ programs, dataFolder, user }: Omit<Serving, 'settings' | 'ownSeed'>): void {
  const [program, args] = user.command(programs.pg_ctl, ['stop', '-m', 'immediate', '-D', dataFolder])
  const { status, stderr, error } = spawnSync(program, args, { ...user.identity, encoding: 'utf8' })
  if (status !== 0) throw new Error(`pg_ctl stop failed: ${error?.message ?? stderr}`)
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

/** A standby needs nothing of pg_basebackup, which the packages lack, where it begins before its primary ever ran. */
function beginAsStandby(dataFolder: string, seed: string, { uid, gid }: User): void {
  cpSync(seed, dataFolder, { recursive: true })
  chmodSync(dataFolder, 0o700)
  writeFileSync(path.join(dataFolder, 'standby.signal'), '')
  if (uid === undefined || gid === undefined) return
  chownSync(dataFolder, uid, gid)
  for (const name of readdirSync(dataFolder, { recursive: true, encoding: 'utf8' })) {
    chownSync(path.join(dataFolder, name), uid, gid)
  }
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
      // A standby is ready for 'read-only connections'.
      if (/ready to accept (read-only )?connections/.test(log)) resolve()
    })
  })
}
