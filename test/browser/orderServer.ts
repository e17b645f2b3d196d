import { createHTTPServer } from '@trpc/server/adapters/standalone'
import cors from 'cors'
import { createShop } from '../reactQuery/shop.js'
import type { TestDatabase } from '../support/database/testDatabase.js'
import { listen } from '../support/httpServer.js'
import { contextOf } from '../support/httpServerContext.js'

/** The shop's API, on an origin of its own, until the test ends; gives its URL. */
export async function serveOrders(db: Pick<TestDatabase, 'prisma'>): Promise<string> {
  return listen(
    createHTTPServer({
      router: createShop(db),
      createContext: ({ req }) => contextOf(req),
      middleware: cors(),
    }),
  )
}
