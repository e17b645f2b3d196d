import { createServer } from 'node:http'
import type { AnyTRPCRouter } from '@trpc/server'
import { createExpressMiddleware } from '@trpc/server/adapters/express'
import express from 'express'
import { listen } from '../../support/httpServer.js'
import { contextOf } from '../../support/httpServerContext.js'

/** tRPC's middleware in an application of Express. */
export async function expressServer(router: AnyTRPCRouter): Promise<string> {
  const app = express()
  app.use('/trpc', createExpressMiddleware({ router, createContext: ({ req }) => contextOf(req) }))
  return `${await listen(createServer(app))}/trpc`
}
