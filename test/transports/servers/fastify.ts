import type { AnyTRPCRouter } from '@trpc/server'
import { type FastifyTRPCPluginOptions, fastifyTRPCPlugin } from '@trpc/server/adapters/fastify'
import { fastify } from 'fastify'
import { onTestFinished } from 'vitest'
import { contextOf } from '../../support/httpServerContext.js'

/** tRPC's plugin in an application of Fastify. */
export async function fastifyServer(router: AnyTRPCRouter): Promise<string> {
  // The paths of a whole batch are one parameter of the route, and Fastify's own limit is 100 characters.
  const app = fastify({ forceCloseConnections: true, routerOptions: { maxParamLength: 5000 } })
  const trpcOptions: FastifyTRPCPluginOptions<AnyTRPCRouter>['trpcOptions'] = {
    router,
    createContext: ({ req }) => contextOf(req.raw),
  }
  app.register(fastifyTRPCPlugin, { prefix: '/trpc', trpcOptions })
  onTestFinished(() => app.close())
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/trpc`
}
