import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'
import type { DatabaseSource } from './source.js'

/** Puts PgBouncer, in transaction mode, in front of a server: no two transactions need to have one session. */
export async function behindPgBouncer(source: DatabaseSource): Promise<DatabaseSource> {
  const upstream = new URL(source.directUrl('postgres'))
  const port = await freePort()
  const folder = mkdtempSync(path.join(os.tmpdir(), 'trpc-idempotency-pgbouncer-'))
  chmodSync(folder, 0o755)
  writeFileSync(path.join(folder, 'users'), `"${upstream.username}" "${decodeURIComponent(upstream.password)}"\n`)
  writeFileSync(
    path.join(folder, 'config'),
    [
      '[databases]',
      `* = host=${upstream.hostname} port=${upstream.port}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =`,
      `auth_type = trust\nauth_file = ${path.join(folder, 'users')}`,
      'pool_mode = transaction\ndefault_pool_size = 40\nmax_client_conn = 2000',
      // It refuses to run as root, and becomes somebody else instead.
      ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
    ].join('\n'),
  )
  const bouncer = spawn('pgbouncer', [path.join(folder, 'config')], { stdio: ['ignore', 'ignore', 'pipe'] })
  const exited = new Promise<void>((resolve) => bouncer.once('exit', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    let log = ''
    bouncer.once('error', reject)
    bouncer.once('exit', () => reject(new Error(`PgBouncer did not start:\n${log}`)))
    bouncer.stderr.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-8000)
      if (log.includes('process up')) resolve()
    })
  })
  return {
    ...source,
    description: `${source.description}, through PgBouncer in transaction mode`,
    url(database) {
      const url = new URL(source.directUrl(database))
      url.host = `127.0.0.1:${port}`
      return url.href
    },
    async stop() {
      bouncer.kill('SIGINT')
      await exited
      rmSync(folder, { recursive: true, force: true })
      await source.stop()
    },
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
