import { v7 } from 'uuid'
import type { Prisma } from '../../../generated/prisma/client.js'
import type { OnUnknown, Operation } from '../../../server/engine/record.js'
import type { Held, LeaseStore } from '../../../server/store/leaseStore.js'
import { prismaDatabase } from '../../../server/store/prisma.js'
import { sealBy } from '../../../server/store/seal.js'
import { sqlLeaseStore } from '../../../server/store/sqlLeaseStore.js'
import { sqlStore } from '../../../server/store/sqlStore.js'
import { sqlSweeper } from '../../../server/store/sqlSweeper.js'
import type { TestDatabase } from '../../support/database/testDatabase.js'
import type { Payload, Step } from './steps.js'
import { OPERATIONS, type OperationName, type Reply } from './world.js'

const HOUR = 3_600_000

/** No wait of this test is so long, and no lease ends by itself. */
const TERMS = { leaseMs: 600_000, claimWaitMs: 20_000 }
const BOUNDS = { idleWarningMs: 30_000, timeoutMs: 30_000, maxWaitMs: 30_000, claimWaitMs: TERMS.claimWaitMs }

export type Keys = Record<OperationName, string>

/** Keys that no run before had. */
export function newKeys(): Keys {
  const aged = (hours: number) => v7({ msecs: Date.now() - hours * HOUR })
  const old = aged(OPERATIONS.old.ageHours)
  return { old, 'old elsewhere': old, older: aged(OPERATIONS.older.ageHours) }
}

/** Takes one step; `inBody` runs in the transaction of a recovery point, after it wrote its row. */
export type Perform = (step: Step, keys: Keys, inBody?: () => Promise<void>) => Promise<Reply>

/** Takes steps on the real store and the real sweeper. */
export function performOn(db: TestDatabase): Perform {
  const database = prismaDatabase(db.prisma)
  const settingsOf = (retentionHours: number) => ({
    ...{ schema: undefined, retentionMs: retentionHours * HOUR, skewMs: 60_000, seal: sealBy([]) },
  })
  const storeOf = (retentionHours: number): LeaseStore<Prisma.TransactionClient> => {
    const settings = settingsOf(retentionHours)
    return sqlLeaseStore<Prisma.TransactionClient>(database, settings, sqlStore(database, settings))
  }
  const stores = new Map([10, 20, 30].map((hours) => [hours, storeOf(hours)]))
  const store = storeOf(30)

  return async (step, keys, inBody = async () => undefined) => {
    switch (step.kind) {
      case 'claim':
        return (stores.get(step.retentionHours) ?? store).claim(operationOf(step, keys), step.attempt, termsOf(step))
      case 'takeOver':
        return store.takeOver(operationOf(step, keys), termsOf(step))
      case 'renew':
        return store.renew(heldBy(step, keys), termsOf({ onUnknown: 'retry' }))
      case 'release':
        return store.release(heldBy(step, keys))
      case 'abandon':
        return store.abandon(heldBy(step, keys))
      case 'settle':
        return store.settle(heldBy(step, keys), step.outcome)
      case 'record':
        return store.record(heldBy(step, keys), step.name, step.result)
      case 'recordWith': {
        try {
          const end = await store.recordWith(heldBy(step, keys), { name: step.name, bounds: BOUNDS }, async (tx) => {
            await tx.order.create({ data: { customer: step.holder, item: step.label, cents: 1 } })
            await inBody()
            if (step.fails) throw new BodyFailed()
            return step.result
          })
          return end.kind
        } catch (error) {
          if (error instanceof BodyFailed) return 'failed'
          throw error
        }
      }
      case 'operatorResolves':
        return store.resolveAbandoned(operationOf(step, keys), step.result)
      case 'operatorReleases':
        return store.releaseAbandoned(operationOf(step, keys))
      case 'leaseEnds': {
        const { scope } = OPERATIONS[step.operation]
        return changes(
          `update idempotency_keys set lease_expires_at = clock_timestamp() - interval '1 second'
          where key = $1 and scope = $2 and status = 'in_flight' returning 1`,
          [keys[step.operation], scope],
        )
      }
      case 'marginPasses':
        return changes(MARGIN_PASSES)
      case 'raise':
        return sqlSweeper(database, settingsOf(step.retentionHours)).raiseWatermark()
      case 'sweep':
        return sqlSweeper(database, settingsOf(30)).deleteBatch(100)
    }
  }

  async function changes(sql: string, parameters: unknown[] = []): Promise<boolean> {
    return (await db.query(sql, parameters)).length > 0
  }
}

/** As if the watermark had been raised 61 seconds earlier, to the births that were old enough then. */
const MARGIN_PASSES = `
  update idempotency_watermark as w
  set raised_at = w.raised_at - interval '61 seconds',
    key = left(earlier.hex, 8) || '-' || substr(earlier.hex, 9) || right(w.key, 23)
  from (
    select lpad(to_hex(('x' || replace(left(key, 13), '-', ''))::bit(48)::bigint - 61000), 12, '0') as hex
    from idempotency_watermark
  ) as earlier
  where w.raised_at > '-infinity'
  returning 1`

class BodyFailed extends Error {}

function operationOf(
  { operation, payload = 1 }: { operation: OperationName; payload?: Payload },
  keys: Keys,
): Operation {
  const { ageHours, scope } = OPERATIONS[operation]
  const key = keys[operation]
  const birth = Number.parseInt(key.slice(0, 13).replace('-', ''), 16)
  if (Date.now() - birth < ageHours * HOUR) throw new Error('the key is younger than it says')
  return { key, birth, scope, procedure: 'pay', fingerprint: new Uint8Array(33).fill(payload) } as unknown as Operation
}

function heldBy(step: { operation: OperationName; fence: number }, keys: Keys): Held {
  return { operation: operationOf(step, keys), fence: step.fence } as Held
}

function termsOf({ onUnknown }: { onUnknown: OnUnknown }) {
  return { ...TERMS, onUnknown }
}
