import process from 'node:process'
import { PrismaPg } from '@prisma/adapter-pg'
import { TRPCError } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { listen } from '../../../examples/support/listen.js'
import { PrismaClient } from '../../../generated/prisma/client.js'
import { chaosRouter } from './router.js'
import type { ChaosServerSettings } from './settings.js'
import { soldOutSometimes } from './soldOut.js'

// This file is a program: one server. Its end is that of whoever started it, who may be gone already.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()

const { databaseUrl, providerUrl, seed, nth } = JSON.parse(process.argv[2] ?? '{}') as ChaosServerSettings
// Fewer connections than there can be requests, so that other traffic can starve them.
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl, max: 6 }) })
const server = createHTTPServer({
  router: chaosRouter(soldOutSometimes(prisma, { seed, name: `server ${nth}` }), providerUrl),
  createContext({ req }) {
    const customer = req.headers['x-customer']
    if (typeof customer !== 'string') throw new TRPCError({ code: 'UNAUTHORIZED' })
    return { customer }
  },
})
const { url } = await listen(server)
process.send?.(url)
