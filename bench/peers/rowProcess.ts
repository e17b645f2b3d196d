import process from 'node:process'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { listen } from '../../examples/support/listen.js'
import { ROWS, type RowName } from './rows.js'
import { type Given, t } from './shop.js'

export interface RowOrder extends Given {
  name: RowName
}

/** The processor time that this process has used so far, in microseconds. */
export type CpuReport = { cpu: number }

// This file is a program: the server of one row. It ends with the process that forked it.
const { name, ...given } = JSON.parse(process.argv[2] ?? '') as RowOrder
process.once('disconnect', () => process.exit())
const { row } = await ROWS[name].load()
const router = t.router({ order: t.router({ create: await row(given) }) })
const server = createHTTPServer({
  router,
  createContext: ({ req }) => ({ key: String(req.headers['idempotency-key'] ?? '') }),
})
// The callers' connections stay open while the other rows have their turn.
server.keepAliveTimeout = 600_000
const { url } = await listen(server)
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system } satisfies CpuReport)
})
process.send?.({ url })
