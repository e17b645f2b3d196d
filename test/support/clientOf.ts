import { onTestFinished } from 'vitest'
import { PrismaClient } from '../../generated/prisma/client.js'
import { adapterOf } from './adapterOf.js'
import { disconnect } from './prismaVersion.js'

/** A client of the application for one address of its database, such as a proxy's, until the test ends. */
export function clientOf(connectionString: string, max = 3): PrismaClient {
  const prisma = new PrismaClient({ adapter: adapterOf({ connectionString, max }) })
  onTestFinished(() => disconnect(prisma))
  return prisma
}
