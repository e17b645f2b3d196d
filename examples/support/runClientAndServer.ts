import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { startExampleDatabase } from './exampleDatabase.js'
import { runExample } from './runExample.js'

export interface ClientAndServer {
  /** Imports the server, which finds `DATABASE_URL` in the environment. */
  server(): Promise<{ server: Server }>
  /** Imports the client, which finds `SHOP_URL` there; the import ends when the client is done. */
  client(): Promise<unknown>
}

/** Runs an example of two files as its reader would: a migrated database, the server, then the client. */
export async function runClientAndServer(example: ClientAndServer): Promise<never> {
  return runExample(async (run) => {
    process.env['DATABASE_URL'] = await startExampleDatabase(run)
    const { server } = await example.server()
    server.listen(0)
    await once(server, 'listening')
    run.onEnd(() => server.closeAllConnections())
    process.env['SHOP_URL'] = `http://localhost:${(server.address() as AddressInfo).port}`
    await example.client()
    return 0
  })
}
