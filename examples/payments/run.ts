import { PrismaPg } from '@prisma/adapter-pg'
import { startExampleDatabase } from '../support/exampleDatabase.js'
import { inQueues } from '../support/inQueues.js'
import { optionsOrExit } from '../support/options.js'
import { startProgress } from '../support/progress.js'
import { type Run, runExample } from '../support/runExample.js'
import { checkOut } from './customer.js'
import { planKills } from './kills.js'
import { countInDatabase, type Ledger } from './ledger.js'
import { HELP, type PaymentsOptions, readOptions } from './options.js'
import { startProvider } from './provider.js'
import { inexactness, jsonReport, type Story, tableReport } from './report.js'
import { startServers } from './servers.js'

const options = optionsOrExit(readOptions, HELP)
await runExample(async (run) => {
  const { ledger, story } = await measure(options, run)
  console.log(options.json ? jsonReport(ledger) : tableReport(ledger, story, options))
  const complaint = inexactness(ledger)
  if (complaint !== undefined) console.error(complaint)
  return complaint === undefined ? 0 : 1
})

/** Lets all customers check out, while the provider fails and servers are killed. */
async function measure(options: PaymentsOptions, run: Run): Promise<{ ledger: Ledger; story: Story }> {
  const { intents, concurrency, kills } = options
  const { signal, onEnd } = run
  const customers = Array.from({ length: intents }, (_, index) => `customer-${index + 1}`)
  const progress = startProgress(intents)
  onEnd(progress.end)
  progress.say('Starting Postgres')
  const databaseUrl = await startExampleDatabase(run)
  // Not before: on a fresh clone the client was generated a moment ago.
  const { PrismaClient } = await import('../../generated/prisma/client.js')
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl, max: 1 }) })
  onEnd(() => prisma.$disconnect())

  const killWhenPlanned = planKills({ ...options, customers }, (pid) => servers.kill(pid))
  const provider = await startProvider(options, killWhenPlanned)
  onEnd(provider.close)
  progress.say('Starting two servers of the shop')
  const servers = await startServers({ databaseUrl, providerUrl: provider.url }, run)

  progress.say(`Placing ${intents} checkouts and killing a server ${kills} times`)
  const served = inQueues(concurrency, customers, async (customer) => {
    await checkOut({ customer, nextUrl: servers.nextUrl, signal })
    progress.advance()
  })
  await servers.during(served)
  progress.end()
  const ledger = { intents, charges: provider.charges(), ...(await countInDatabase(prisma)) }
  return { ledger, story: { calls: provider.calls(), unanswered: provider.unanswered(), kills: servers.kills() } }
}
