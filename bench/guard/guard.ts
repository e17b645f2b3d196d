import process from 'node:process'
import { v7 } from 'uuid'
import { inQueues } from '../../examples/support/inQueues.js'
import { startEmbeddedPostgres } from '../../prisma/dev/embeddedPostgres.js'
import { prisma as prismaCli } from '../../prisma/dev/prismaCli.js'
import { alternately } from '../measure/alternately.js'
import { keepAlive, type Post } from '../measure/post.js'
import { inWords, ratio, type Spread } from '../measure/ratio.js'
import { type GuardServer, LANES, type Lane, startGuardServer } from './guardServer.js'

// Whether something became grossly slower: npm run bench:guard, half a minute. It goes through HTTP, as the targets
// do: what a caller sees is that. Server and caller share this process, so that one scheduler treats all lanes alike.
const ROUNDS = 9
const CALLS = 300
const CALLERS = 8

/** First calls a second, to those of the bare interactive transaction; what the project aims at on a quiet machine. */
const TARGETS = { ours: 0.6, oursWithWrapper: 0.8 }
/** Machines that others use as well are off by a fifth now and then; never by this much. */
const GROSS = 0.5

const postgres = await startEmbeddedPostgres({ fsync: 'on' })
try {
  const url = postgres.url('guard')
  await prismaCli(['migrate', 'deploy'], url)
  const server = await startGuardServer(url)
  const { post, close } = keepAlive()
  const speeds = await alternately(LANES, ROUNDS, (lane) => callsASecond(post, server, lane))
  close()
  await server.stop()

  const lost = Object.entries(TARGETS).map(([lane, target]) => {
    const toBare = ratio(speeds[lane as Lane], speeds.bare)
    return { lane, target, failsBelow: target * GROSS, ratio: toBare }
  })
  if (process.argv.includes('--json')) console.log(JSON.stringify(lost))
  else for (const each of lost) console.log(line(each))
  for (const { lane, ratio, failsBelow, target } of lost) {
    if (ratio.median >= failsBelow) continue
    console.error(
      `${lane}: ${ratio.median.toFixed(2)} of the bare transaction's speed is less than half of the target of ${target.toFixed(2)}. A change has made mutations grossly slower: compare with the commit before (npm run bench:guard), and look for a further round trip or query in a mutation.`,
    )
    process.exitCode = 1
  }
} finally {
  await postgres.stop()
}

async function callsASecond(post: Post, server: GuardServer, lane: Lane): Promise<number> {
  const keys = Array.from({ length: CALLS }, () => v7())
  const start = performance.now()
  await inQueues(CALLERS, keys, async (key) => {
    const input = { item: 'tea' }
    const body = lane === 'bare' ? input : { '~idempotency': { key, attempt: 1 }, '~input': input }
    const { status, text } = await post(server.urlOf(lane), body)
    if (status !== 200) throw new Error(`${lane} answered ${status}: ${text}`)
  })
  return (1000 * CALLS) / (performance.now() - start)
}

function line({
  lane,
  ratio,
  target,
  failsBelow,
}: { lane: string; ratio: Spread } & Record<'target' | 'failsBelow', number>) {
  const name = lane === 'ours' ? 'ours to bare' : 'ours with the wrapper to bare'
  return `${name}: ${inWords(ratio)}, target ${target.toFixed(2)}, fails below ${failsBelow.toFixed(2)}`
}
