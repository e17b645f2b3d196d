import { PrismaPg } from '@prisma/adapter-pg'
import { startExampleDatabase } from '../support/exampleDatabase.js'
import { optionsOrExit } from '../support/options.js'
import { startProgress } from '../support/progress.js'
import { type Run, runExample } from '../support/runExample.js'
import { buyIdempotently, buyWithPlainRetry } from './buyers.js'
import { runLane } from './lane.js'
import { type DemoOptions, HELP, readOptions } from './options.js'
import { type DemoCounts, inexactness, jsonReport, tableReport } from './report.js'
import { startShop } from './router.js'

const options = optionsOrExit(readOptions, HELP)
await runExample(async (run) => {
  const counts = await measure(options, run)
  console.log(options.json ? jsonReport(counts) : tableReport(counts, options))
  const complaint = inexactness(counts.idempotent)
  if (complaint !== undefined) console.error(complaint)
  return complaint === undefined ? 0 : 1
})

/** Lets all customers order, with a plain retry first and idempotently then, at one shop with one database. */
async function measure(options: DemoOptions, run: Run): Promise<DemoCounts> {
  const progress = startProgress(2 * options.intents)
  run.onEnd(progress.end)
  progress.say('Starting Postgres')
  const databaseUrl = await startExampleDatabase(run)
  // Not before: on a fresh clone the client was generated a moment ago.
  const { PrismaClient } = await import('../../generated/prisma/client.js')
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl, max: 20 }) })
  run.onEnd(() => prisma.$disconnect())
  const shop = await startShop(prisma)
  run.onEnd(shop.close)

  const setup = { prisma, shopUrl: shop.url, options, signal: run.signal, onAnswered: progress.advance }
  progress.say(`Placing ${options.intents} orders with a plain retry`)
  const plain = await runLane(buyWithPlainRetry, setup)
  progress.say(`Placing ${options.intents} orders idempotently`)
  const idempotent = await runLane(buyIdempotently, setup)
  progress.end()
  return { plain, idempotent }
}
