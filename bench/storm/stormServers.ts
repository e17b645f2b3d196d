import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

export interface StormServers {
  urls: string[]
  stop(): Promise<void>
}

/** Starts server processes, which have nothing in common but the database. */
export async function startStormServers(databaseUrl: string, count: number): Promise<StormServers> {
  const children = Array.from({ length: count }, () =>
    fork(path.join(import.meta.dirname, 'stormServer.ts'), [databaseUrl], { execArgv: ['--import', 'tsx'] }),
  )
  const urls = await Promise.all(children.map(urlOf))
  return {
    urls,
    async stop() {
      const exits = children.map((child) => once(child, 'exit'))
      for (const child of children) child.disconnect()
      await Promise.all(exits)
    },
  }
}

async function urlOf(child: ChildProcess): Promise<string> {
  const address = await new Promise<AddressInfo>((resolve, reject) => {
    child.once('message', (message) => resolve(message as AddressInfo))
    child.once('exit', (code) => reject(new Error(`a server ended with ${code} before it listened`)))
  })
  return `http://127.0.0.1:${address.port}`
}
