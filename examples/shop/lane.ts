import type { PrismaClient } from '../../generated/prisma/client.js'
import { inQueues } from '../support/inQueues.js'
import type { Buyer } from './buyers.js'
import { startNetwork } from './network.js'
import type { DemoOptions } from './options.js'

/** What a lane came to. Orders and money are counted in the database, requests and answers at the network. */
export interface LaneCounts {
  intents: number
  requests: number
  orders: number
  /** How many customers have more than one order. */
  duplicates: number
  /** How much they paid beyond their first order, in cents. */
  overcharged: number
  /** How many different replies the server gave to all requests. */
  distinctAnswers: number
}

export interface LaneSetup {
  prisma: PrismaClient
  shopUrl: string
  options: DemoOptions
  signal: AbortSignal
  /** Called after each order that was answered. */
  onAnswered(): void
}

/** Lets every customer order once, through a network of the lane's own, and counts. */
export async function runLane(buy: Buyer, { prisma, shopUrl, options, signal, onAnswered }: LaneSetup) {
  const { intents, concurrency } = options
  await prisma.order.deleteMany()
  const network = await startNetwork(shopUrl, options)
  try {
    const customers = Array.from({ length: intents }, (_, index) => `customer-${index + 1}`)
    await inQueues(concurrency, customers, async (customer) => {
      await buy({ customer, url: network.url, signal })
      onAnswered()
    })
    await network.quiet()
    const counts: LaneCounts = {
      intents,
      requests: network.requests(),
      ...(await countOrders(prisma)),
      distinctAnswers: network.answers().size,
    }
    return counts
  } finally {
    network.close()
  }
}

async function countOrders(prisma: PrismaClient) {
  // As float8: an exact number in JavaScript up to 2^53, where int4 ends at 21 million.
  const [counts] = await prisma.$queryRaw<[Pick<LaneCounts, 'orders' | 'duplicates' | 'overcharged'>]>`
    select
      coalesce(sum(orders), 0)::float8 as orders,
      count(*) filter (where orders > 1)::float8 as duplicates,
      coalesce(sum(paid - price), 0)::float8 as overcharged
    from (
      select customer, count(*) as orders, sum(cents) as paid, min(cents) as price from orders group by customer
    ) as customers`
  return counts
}
