import { v7 } from 'uuid'
import type { Fence, Operation } from '../../../server/engine/record.js'
import type { KeyStore, KeyTransaction, Sweeper, TransactionBounds, WonClaim } from '../../../server/store/keyStore.js'
import type { Held, LeaseStore, LeaseTerms } from '../../../server/store/leaseStore.js'
import { sealBy } from '../../../server/store/seal.js'
import { sqlLeaseStore } from '../../../server/store/sqlLeaseStore.js'
import { sqlStore } from '../../../server/store/sqlStore.js'
import { sqlSweeper } from '../../../server/store/sqlSweeper.js'
import type { StoreDatabase } from './useStore.js'

type Tx = Parameters<Parameters<StoreDatabase['sql']['transaction']>[1]>[0]['tx']

export const HOUR = 3_600_000
export const RETENTION_MS = 24 * HOUR
export const SKEW_MS = 60_000

/** No wait and no transaction of a test is so long, unless it says so. */
export const BOUNDS: TransactionBounds = {
  timeoutMs: 30_000,
  maxWaitMs: 30_000,
  claimWaitMs: 20_000,
  idleWarningMs: 60_000,
}
export const TERMS: LeaseTerms = { leaseMs: 600_000, claimWaitMs: 20_000, onUnknown: 'retry' }

/** The stores of a contract's test. */
export interface Stores {
  keys: KeyStore<Tx>
  leases: LeaseStore<Tx>
  sweeper: Sweeper
}

export function storesOn({ sql, schema }: StoreDatabase, retentionMs = RETENTION_MS): Stores {
  const settings = { schema, retentionMs, skewMs: SKEW_MS, seal: sealBy([]) }
  const keys = sqlStore<Tx>(sql, settings)
  return { keys, leases: sqlLeaseStore<Tx>(sql, settings, keys), sweeper: sqlSweeper(sql, settings) }
}

/** An operation that nobody else has; `payload` tells fingerprints apart. */
export function newOperation({ ageMs = 0, payload = 1 } = {}): Operation {
  const birth = Date.now() - ageMs
  const fingerprint = new Uint8Array(33).fill(payload)
  return { key: v7({ msecs: birth }), birth, scope: 'alice', procedure: 'pay', fingerprint } as unknown as Operation
}

/** The same with another input. */
export function otherPayload(operation: Operation): Operation {
  return { ...operation, fingerprint: new Uint8Array(33).fill(2) } as unknown as Operation
}

export function held(operation: Operation, fence: number): Held {
  return { operation, fence: fence as Fence }
}

/** Claims and settles in one transaction. */
export async function settled(keys: KeyStore<Tx>, operation: Operation, result: string | null = '1'): Promise<void> {
  await keys.transaction(BOUNDS, async (transaction) => {
    const { fence } = await won(transaction, operation)
    await transaction.settle(operation, fence, { kind: 'value', result })
  })
}

/** Claims, and has to win. */
export async function won(transaction: KeyTransaction<Tx>, operation: Operation): Promise<WonClaim> {
  const claim = await transaction.claim(operation, 1)
  if (claim.kind !== 'won') throw new Error(`the claim was ${claim.kind}`)
  return claim
}

/** A transaction that stays open, with whatever `body` did, until it is ended. */
export interface OpenTransaction {
  commit(): Promise<void>
  rollBack(): Promise<void>
}

/** Resolves once `body` is through. */
export async function openTransaction(
  keys: KeyStore<Tx>,
  body: (transaction: KeyTransaction<Tx>) => Promise<void>,
): Promise<OpenTransaction> {
  let end: (error?: Error) => void = () => undefined
  const ended = new Promise<void>((resolve, reject) => {
    end = (error) => (error === undefined ? resolve() : reject(error))
  })
  let arrive: () => void = () => undefined
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const running = keys.transaction(BOUNDS, async (transaction) => {
    await body(transaction)
    arrive()
    await ended
  })
  await Promise.race([arrived, running])
  return {
    async commit() {
      end()
      await running
    },
    async rollBack() {
      const rolledBack = new Error('rolled back by the test')
      end(rolledBack)
      await running.catch((error: unknown) => {
        if (error !== rolledBack) throw error
      })
    },
  }
}

/** As if a lease had ended by itself. */
export async function endLease({ query, tables }: StoreDatabase, { key, scope }: Operation): Promise<void> {
  await query(
    `update ${tables.keys} set lease_expires_at = clock_timestamp() - interval '1 second' where key = $1 and scope = $2`,
    [key, scope],
  )
}
