import fc from 'fast-check'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { commandsOf, ending, type Known, type Real } from './storeModel/commands.js'
import { watchInvariants } from './storeModel/invariants.js'
import { observe } from './storeModel/observed.js'
import { newKeys, performOn } from './storeModel/perform.js'
import { newWorld } from './storeModel/world.js'

const db = useDatabase()

const RUNS = 200
const MAX_COMMANDS = 60
/** A failure is shrunk, run by run: that takes longer than the runs themselves. */
const TIMEOUT_MS = 300_000

/** Walks that never came here would prove nothing about it. Each of these is met dozens of times in so many runs. */
const MET = [
  ...['claim: won', 'claim: lost', 'takeOver: won', 'takeOver: lost', 'renew: true', 'renew: false'],
  ...['release: true', 'release: false', 'abandon: true', 'abandon: false', 'settle: true', 'settle: false'],
  ...['record: true', 'record: false', 'operatorResolves: true', 'operatorResolves: false'],
  ...['recordWith: recorded', 'recordWith: known', 'recordWith: lost', 'recordWith: failed'],
  ...['operatorReleases: true', 'operatorReleases: false', 'raise: true', 'raise: false', 'sweep: 1', 'sweep: 2'],
  ...['takeOver: won & takeOver: lost', 'takeOver: lost & takeOver: won'],
  ...['recordWith: recorded & takeOver: won', 'recordWith: failed & takeOver: won'],
]

test(
  'in any order of claims, writes, takeovers, sweeps and time, by holders current and lost, the lease store keeps its promises',
  async () => {
    const met = new Map<string, number>()
    const count = (said: string) => met.set(said, (met.get(said) ?? 0) + 1)
    const perform = performOn(db)
    await fc.assert(
      fc.asyncProperty(commandsOf(MAX_COMMANDS), async (sequence) => {
        await db.query('truncate idempotency_keys, idempotency_recovery_points, orders')
        // As the migration leaves it.
        await db.query(
          `update idempotency_watermark set key = '00000000-0000-7000-8000-000000000000', raised_at = '-infinity'`,
        )
        const keys = newKeys()
        const known: Known = { world: newWorld(), before: await observe(db, keys), story: [] }
        const real: Real = { db, keys, perform, checkInvariants: watchInvariants(), count }
        await fc.asyncModelRun(() => ({ model: known, real }), sequence)
        await fc.asyncModelRun(() => ({ model: known, real }), ending)
      }),
      { numRuns: RUNS },
    )
    expect(MET.filter((said) => !met.has(said))).toEqual([])
  },
  TIMEOUT_MS,
)
