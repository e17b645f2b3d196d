import fc from 'fast-check'
import { sweepOnce, withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { fingerprint } from '../../server/engine/fingerprint.js'
import { useDatabase } from '../support/database/testDatabase.js'
import { authed, shopIdempotency, t } from '../support/shop.js'

const db = useDatabase()

const MINUTE = 60_000
/** Deploys of one application that differ in their retention: it is lowered, and raised again. */
const RETENTIONS = [10 * MINUTE, 60 * MINUTE, 600 * MINUTE]
/** Keys are at most so old, and at least so old that the shortest retention can end while they are used. */
const [YOUNGEST_MS, OLDEST_MS] = [MINUTE, 120 * MINUTE]
const BULK = 10_000
const RUNS = 11

/** How often the handler ran for a key. What happened before the test began counts too. */
const executions = new Map<string, number>()

const deploys = RETENTIONS.map((retentionMs) => {
  const create = () => {
    const idempotency = shopIdempotency(db.prisma, { retentionMs })
    const router = t.router({
      create: idempotency.transaction(authed).mutation(({ ctx }) => {
        const { key } = ctx.idempotency
        executions.set(key, (executions.get(key) ?? 0) + 1)
        return 'done'
      }),
    })
    return { idempotency, caller: t.createCallerFactory(router)({ user: { id: 'model' } }) }
  }
  let made: ReturnType<typeof create> | undefined
  // Not before the database of this file is there.
  return () => {
    made ??= create()
    return made
  }
})

/** What the test knows: every key that was ever executed, and how many rows the sweeps deleted. */
interface Known {
  keys: string[]
  swept: number
}

type Deploy = 0 | 1 | 2

const deployOf = (index: Deploy) => (deploys[index] ?? expect.fail('no such deploy'))()

/** Sends a key, as a first attempt or a retry: its answer, or the reason why there is none. */
async function send(deploy: Deploy, key: string): Promise<string> {
  try {
    return await deployOf(deploy).caller.create(withIdempotencyKey(undefined, key))
  } catch (error) {
    const reason = (error as { cause?: { reason?: string } }).cause?.reason
    if (reason === undefined) throw error
    return reason
  }
}

class Execute implements fc.AsyncCommand<Known, object> {
  constructor(
    readonly deploy: Deploy,
    readonly ageMs: number,
  ) {}
  check = () => true
  async run(known: Known) {
    const key = v7({ msecs: Date.now() - this.ageMs })
    const answer = await send(this.deploy, key)
    expect(['done', 'KEY_TOO_OLD']).toContain(answer)
    if (answer === 'done') known.keys.push(key)
  }
  toString = () => `execute(${this.deploy}, ${this.ageMs} ms old)`
}

/** Retries of keys that were executed, some of them swept since, while a sweep may be running. */
class Retry implements fc.AsyncCommand<Known, object> {
  constructor(
    readonly deploy: Deploy,
    readonly picks: number[],
    readonly sweptBy: Deploy | undefined,
  ) {}
  check = ({ keys }: Readonly<Known>) => keys.length > 0
  async run(known: Known) {
    const keys = this.picks.map((pick) => known.keys[pick % known.keys.length] ?? '')
    const sweep = this.sweptBy === undefined ? undefined : sweepOnce(deployOf(this.sweptBy).idempotency)
    const answers = await Promise.all(keys.flatMap((key) => [send(this.deploy, key), send(this.deploy, key)]))
    for (const answer of answers) expect(['done', 'KEY_TOO_OLD']).toContain(answer)
    known.swept += (await sweep)?.deleted ?? 0
    for (const key of keys) expect(executions.get(key)).toBe(1)
  }
  toString = () => `retry(${this.deploy}, ${this.picks.length} keys, sweep ${this.sweptBy})`
}

class Sweep implements fc.AsyncCommand<Known, object> {
  constructor(
    readonly deploy: Deploy,
    readonly batchSize: number,
  ) {}
  check = () => true
  async run(known: Known) {
    known.swept += (await sweepOnce(deployOf(this.deploy).idempotency, { batchSize: this.batchSize })).deleted
  }
  toString = () => `sweep(${this.deploy}, ${this.batchSize})`
}

/** A margin passes for the watermark: set in the database, for nobody wants to wait for it. */
class MarginPasses implements fc.AsyncCommand<Known, object> {
  check = () => true
  async run() {
    await marginPasses()
  }
  toString = () => 'margin passes'
}

const marginPasses = () => db.query(`update idempotency_watermark set raised_at = raised_at - interval '61 seconds'`)

/** Operations that were executed before: rows as the library leaves them, ten thousand in one statement. */
async function executeInBulk(known: Known): Promise<void> {
  const now = Date.now()
  const step = (OLDEST_MS - YOUNGEST_MS) / BULK
  const keys = Array.from({ length: BULK }, (_, index) => v7({ msecs: now - OLDEST_MS + Math.floor(index * step) }))
  await db.query(
    `insert into idempotency_keys
      (key, scope, procedure, fingerprint, status, result, result_kind, fence, attempts, claimed_at, settled_at)
    select key, 'model', 'create', $2, 'settled', '"done"', 'value', 1, 1, now(), now() from unnest($1::text[]) as key`,
    [keys, Buffer.from(fingerprint('create', null))],
  )
  for (const key of keys) {
    executions.set(key, 1)
    known.keys.push(key)
  }
}

const deploy = fc.constantFrom<Deploy>(0, 1, 2)
const commands = fc.commands(
  [
    fc.tuple(deploy, fc.integer({ min: YOUNGEST_MS, max: OLDEST_MS })).map(([d, age]) => new Execute(d, age)),
    fc
      .tuple(deploy, fc.array(fc.nat(), { minLength: 1, maxLength: 10 }), fc.option(deploy, { nil: undefined }))
      .map(([d, picks, sweptBy]) => new Retry(d, picks, sweptBy)),
    fc.tuple(deploy, fc.integer({ min: 100, max: 5000 })).map(([d, size]) => new Sweep(d, size)),
    fc.constant(new MarginPasses()),
  ],
  { maxCommands: 60, size: 'max' },
)

test('after 100,000 keys were swept in random interleavings with retries, no key was executed twice', async () => {
  let swept = 0
  await fc.assert(
    fc.asyncProperty(commands, async (sequence) => {
      await db.query('truncate idempotency_keys, idempotency_recovery_points')
      await db.query(
        `update idempotency_watermark set key = '00000000-0000-7000-8000-000000000000', raised_at = '-infinity'`,
      )
      executions.clear()
      const known: Known = { keys: [], swept: 0 }
      await executeInBulk(known)
      await fc.asyncModelRun(() => ({ model: known, real: {} }), sequence)

      // In the end all is forgotten that the shortest retention lets be forgotten, and nothing of it runs again.
      for (const _ of [1, 2, 3]) {
        await marginPasses()
        known.swept += (await sweepOnce(deployOf(0).idempotency, { batchSize: 5000 })).deleted
      }
      const left = new Set((await db.query<{ key: string }>('select key from idempotency_keys')).map(({ key }) => key))
      const gone = known.keys.filter((key) => !left.has(key))
      expect(gone.length).toBe(known.swept)
      const sample = gone.filter((_, index) => index % Math.ceil(gone.length / 100) === 0)
      for (const key of sample) {
        for (const d of [0, 1, 2] as const) expect(await send(d, key)).toBe('KEY_TOO_OLD')
      }
      for (const [key, times] of executions) if (times !== 1) expect.fail(`${key} was executed ${times} times`)
      swept += known.swept
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
  expect(swept).toBeGreaterThanOrEqual(100_000)
}, 240_000)
