import { setTimeout as pause } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { startProvider } from '../../examples/payments/provider.js'
import { startExamplePostgres } from '../../examples/support/exampleDatabase.js'
import { type Berth, startFleet } from '../../examples/support/fleet.js'
import { startProgress } from '../../examples/support/progress.js'
import type { Run } from '../../examples/support/runExample.js'
import { bundleServer } from './bundleServer.js'
import { createCalm } from './calm.js'
import { check, type Violation } from './checker/check.js'
import { type Fortunes, runClients } from './clients.js'
import { startDatabaseNetwork } from './databaseNetwork.js'
import { readFacts, rememberSweptPoints } from './facts.js'
import { emptyHistory } from './history.js'
import { startNetwork } from './network.js'
import type { ChaosOptions } from './options.js'
import { planDisasters, SERVERS } from './plan.js'
import type { ChaosServerSettings } from './server/settings.js'
import { nameOf, strike } from './strike.js'
import { startSweeper } from './sweeper.js'
import { createTally } from './tally.js'

export interface ChaosResult {
  fortunes: Fortunes
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
  const calm = createCalm()
  const plan = planDisasters({ seed, minutes })
  const progress = startProgress(100)
  onEnd(progress.end)
  progress.say(`Starting Postgres and ${SERVERS} servers (--seed ${seed})`)
  const { databaseUrl, crash } = await startExamplePostgres(run)
  const owner = async <Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> => {
    const client = new pg.Client(databaseUrl)
    await client.connect()
    return work(client).finally(() => client.end())
  }
  await owner(rememberSweptPoints)

  const provider = await startProvider({ faults: UNANSWERED_CHARGES, seed }, () => undefined)
  onEnd(provider.close)
  const throughNetwork = await startDatabaseNetwork(databaseUrl, { seed, tally, calm }, run)
  const settings = { databaseUrl: throughNetwork, providerUrl: provider.url, seed }
  const program = await bundleServer(run)
  const args = (nth: number) => [JSON.stringify({ ...settings, nth } satisfies ChaosServerSettings)]
  const fleet = await startFleet({ size: SERVERS, program, args }, run)

  let turns = 0
  const next = () => {
    turns += 1
    const berth = fleet.berths[turns % SERVERS] as Berth
    return { url: berth.url, name: nameOf(fleet, berth) }
  }
  const network = await startNetwork({ seed, history, tally, calm, next })
  onEnd(network.close)
  // Not before: on a fresh clone the client was generated a moment ago.
  const { PrismaClient } = await import('../../generated/prisma/client.js')
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: databaseUrl, max: 1 }) })
  onEnd(() => prisma.$disconnect())
  const sweeps = new AbortController()
  onEnd(() => sweeps.abort())
  const sweeper = startSweeper(prisma, sweeps.signal)

  progress.say(`Sending intents for ${minutes} minutes`)
  const clients = runClients({ url: network.url, seed, history, calm, signal, onAcknowledged: () => undefined })
  const disasters = Promise.all([
    strike(plan, { fleet, crash, history, tally, signal }),
    passTime(minutes, { signal, onPercent: progress.advance }),
  ]).then(() => {
    progress.say('Putting everything right, and resolving what is left')
    calm.comes()
    return fleet.complete()
  })
  const [fortunes] = await fleet.during(Promise.all([clients, disasters]))
  await network.quiet()
  sweeps.abort()

  progress.say('Checking')
  const facts = {
    ...(await owner(readFacts)),
    charges: provider.books().map(({ cents, ...rest }) => ({ ...rest, intent: cents })),
  }
  const violations = check(history, facts)
  progress.end()
  return {
    fortunes,
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
