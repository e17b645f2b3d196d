import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'

export interface Redis {
  url(database: number): string
  stop(): Promise<void>
}

/** Starts the `redis-server` of the machine. It stores nothing on disk: what is remembered there costs it nothing. */
export async function startRedis(): Promise<Redis> {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise<void>((resolve, reject) => {
    server.once('error', () => reject(new Error('There is no redis-server. On Debian: .ci/apt-install redis-server')))
    server.once('exit', (code) => reject(new Error(`redis-server ended with exit code ${code}`)))
    server.stdout.on('data', (chunk: Buffer) => {
      if (chunk.includes('Ready to accept connections')) resolve()
    })
  })
  return {
    url: (database) => `redis://127.0.0.1:${port}/${database}`,
    async stop() {
      const exited = once(server, 'exit')
      server.kill()
      await exited
    },
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const address = probe.address()
  probe.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
