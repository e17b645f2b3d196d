import { setTimeout as pause } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import { startProvider } from '../../examples/payments/provider.js'
import { startExamplePostgres } from '../../examples/support/exampleDatabase.js'
import { startProgress } from '../../examples/support/progress.js'
import type { Run } from '../../examples/support/runExample.js'
import { check, type Violation } from './checker/check.js'
import { runClients } from './clients.js'
import { startDatabaseNetwork } from './databaseNetwork.js'
import { readFacts, rememberSweptPoints } from './facts.js'
import { createFaultSwitch } from './faultSwitch.js'
import { emptyHistory } from './history.js'
import { injectDisasters } from './injectDisasters.js'
import type { IntentCounts } from './intentCounts.js'
import { startNetwork } from './network.js'
import type { ChaosOptions } from './options.js'
import { planDisasters, SERVERS } from './plan.js'
import { nextServer, startServers } from './servers.js'
import { startSweeper } from './sweeper.js'
import { createTally } from './tally.js'

export interface ChaosResult {
  counts: IntentCounts
  kills: number
  swept: number
  attempts: number
  deliveries: number
  /** What went wrong, by kind. */
  faults: Record<string, number>
  violations: Violation[]
}

/** The part of its calls that the provider of payments charges and does not answer. */
const UNANSWERED_CHARGES = 0.05

/** Lets things go wrong for as long as is asked, puts everything right again, and checks what came of it. */
export async function runChaos({ minutes, seed }: ChaosOptions, run: Run): Promise<ChaosResult> {
  const { signal, onEnd } = run
  const history = emptyHistory()
  const tally = createTally()
  const faults = createFaultSwitch()
  const progress = startProgress(100)
  onEnd(progress.end)
  progress.say(`Starting Postgres and ${SERVERS} servers (--seed ${seed})`)
  const { databaseUrl, crash } = await startExamplePostgres(run)
  await rememberSweptPoints(databaseUrl)
  const provider = await startProvider({ faults: UNANSWERED_CHARGES, seed }, () => undefined)
  onEnd(provider.close)
  const badNetwork = await startDatabaseNetwork(databaseUrl, { seed, tally, faults }, run)
  const fleet = await startServers({ databaseUrl: badNetwork.url, providerUrl: provider.url, seed }, run)
  const network = await startNetwork({ seed, history, tally, faults, next: nextServer(fleet) })
  onEnd(network.close)
  // Not before: on a fresh clone the client was generated a moment ago.
  const { PrismaClient } = await import('../../generated/prisma/client.js')
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl, max: 1 }) })
  onEnd(() => prisma.$disconnect())
  const sweeper = startSweeper(prisma)
  onEnd(sweeper.stop)

  progress.say(`Sending intents for ${minutes} minutes`)
  const clients = runClients({ url: network.url, seed, history, faults, signal })
  const targets = { fleet, crash, partition: badNetwork.partition, history, tally, signal }
  const disasters = injectDisasters(planDisasters({ seed, minutes }), targets)
  const time = passTime(minutes, { signal, onPercent: progress.advance })
  const repaired = Promise.all([disasters, time]).then(async () => {
    progress.say('Putting everything right, and resolving what is left')
    await fleet.complete()
    faults.off()
  })
  const [counts] = await fleet.during(Promise.all([clients, repaired]))
  await network.quiet()
  sweeper.stop()

  progress.say('Checking')
  const charges = provider.books().map(({ cents, ...rest }) => ({ ...rest, intent: cents }))
  const violations = check(history, { ...(await readFacts(databaseUrl)), charges })
  progress.end()
  return {
    counts,
    kills: fleet.kills(),
    swept: sweeper.swept(),
    attempts: history.attempts.length,
    deliveries: history.deliveries.length,
    faults: { ...tally.counts(), 'charge not answered': provider.unanswered() },
    violations,
  }
}

async function passTime(minutes: number, { signal, onPercent }: { signal: AbortSignal; onPercent(): void }) {
  for (let percent = 0; percent < 100; percent += 1) {
    await pause((minutes * 60_000) / 100, undefined, { signal })
    onPercent()
  }
}
