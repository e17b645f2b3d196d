import process from 'node:process'
import { PrismaPg } from '@prisma/adapter-pg'
import { TRPCError } from '@trpc/server'
import { createHTTPServer } from '@trpc/server/adapters/standalone'
import { PrismaClient } from '../../generated/prisma/client.js'
import { listen } from '../support/listen.js'
import { type Context, paymentsRouter } from './router.js'
import type { ServerSettings } from './servers.js'

// This file is a program: one server of the shop. Its end is that of whoever started it, who may be gone already.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()

const { databaseUrl, providerUrl } = JSON.parse(process.argv[2] ?? '{}') as ServerSettings
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl, max: 10 }) })
const server = createHTTPServer({
  router: paymentsRouter(prisma, providerUrl),
  createContext({ req }): Context {
    const customer = req.headers['x-customer']
    if (typeof customer !== 'string') throw new TRPCError({ code: 'UNAUTHORIZED' })
    return { customer }
  },
})
const { url } = await listen(server)
process.send?.(url)
