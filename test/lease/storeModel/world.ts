import type { OnUnknown, Outcome, StoredResult } from '../../../server/engine/record.js'
import type { LeaseClaim, PointEnd } from '../../../server/store/leaseStore.js'
import type { Payload, Step } from './steps.js'

export type Holder = 'first' | 'second' | 'third'
export type OperationName = 'old' | 'old elsewhere' | 'older'

/** Two keys, one of them in two scopes. Both are of an age that a short retention forgets. */
export const OPERATIONS = {
  old: { ageHours: 15, scope: 'here' },
  'old elsewhere': { ageHours: 15, scope: 'elsewhere' },
  older: { ageHours: 25, scope: 'here' },
} as const satisfies Record<OperationName, { ageHours: number; scope: string }>

export const NAMES = Object.keys(OPERATIONS) as OperationName[]

export interface Row {
  payload: Payload
  status: 'in_flight' | 'released' | 'settled'
  fence: number
  attempts: number
  onUnknown: OnUnknown
  lease: 'lives' | 'over' | 'none'
  settled: { kind: string; text: StoredResult } | null
  points: Record<string, { result: StoredResult; fence: number }>
}

/** The tables, as far as the model knows them. */
export interface Tables {
  rows: Record<OperationName, Row | null>
  /** No key older than this is claimed; the margin after its raise has passed, or not. */
  watermark: { hours: number; marginPassed: boolean } | null
  /** The labels of the rows that recovery points wrote with them, sorted. */
  orders: string[]
}

export interface World extends Tables {
  /** The fence that each holder was given last, and goes on using. */
  given: Record<OperationName, Partial<Record<Holder, number>>>
}

/** What a step is answered. `failed`: what the body of a recovery point threw came out. */
export type Reply = LeaseClaim | PointEnd['kind'] | 'failed' | boolean | number

export function newWorld(): World {
  return {
    rows: { old: null, 'old elsewhere': null, older: null },
    watermark: null,
    orders: [],
    given: { old: {}, 'old elsewhere': {}, older: {} },
  }
}

/**
 * What a step does to the world, and what it is answered: written from DESIGN.md, not from the statements.
 *
 * @param passedBy an operation that somebody else works on, which a sweep leaves for later
 */
export function predict(world: World, step: Step, passedBy?: OperationName): Reply {
  switch (step.kind) {
    case 'claim': {
      const { ageHours } = OPERATIONS[step.operation]
      const forgotten = ageHours > step.retentionHours || ageHours > (world.watermark?.hours ?? Infinity)
      if (forgotten || world.rows[step.operation] !== null) return { kind: 'lost' }
      const { payload, onUnknown, attempt } = step
      world.rows[step.operation] = {
        ...{ payload, onUnknown, attempts: attempt },
        ...{ status: 'in_flight', fence: 1, lease: 'lives', settled: null, points: {} },
      }
      return won(world, step, 1)
    }
    case 'takeOver': {
      const row = world.rows[step.operation]
      if (row === null || row.payload !== step.payload) return { kind: 'lost' }
      if (row.status !== 'released' && !(isAbandoned(row) && row.onUnknown === 'retry')) return { kind: 'lost' }
      Object.assign(row, { status: 'in_flight', fence: row.fence + 1, attempts: row.attempts + 1, lease: 'lives' })
      return won(world, step, row.fence)
    }
    case 'renew':
      return write(heldRow(world, step), { lease: 'lives' })
    case 'release':
      return write(heldRow(world, step), { status: 'released', lease: 'none' })
    case 'abandon':
      return write(heldRow(world, step), { lease: 'over' })
    case 'settle':
      return write(heldRow(world, step), { status: 'settled', lease: 'none', settled: stored(step.outcome) })
    case 'record': {
      const row = heldRow(world, step)
      if (row === null || row.points[step.name] !== undefined) return false
      row.points[step.name] = { result: step.result, fence: step.fence }
      return true
    }
    case 'recordWith': {
      const row = heldRow(world, step)
      if (row === null) return 'lost'
      if (step.fails) return 'failed'
      if (row.points[step.name] !== undefined) return 'known'
      row.points[step.name] = { result: step.result, fence: step.fence }
      world.orders = [...world.orders, step.label].sort()
      return 'recorded'
    }
    case 'operatorResolves': {
      const row = leftBehindRow(world, step)
      const settled = { kind: 'value', text: step.result }
      return write(row, { status: 'settled', fence: (row?.fence ?? 0) + 1, lease: 'none', settled })
    }
    case 'operatorReleases': {
      const row = leftBehindRow(world, step)
      return write(row, { status: 'released', fence: (row?.fence ?? 0) + 1, lease: 'none' })
    }
    case 'leaseEnds': {
      const row = world.rows[step.operation]
      return write(row?.status === 'in_flight' ? row : null, { lease: 'over' })
    }
    case 'marginPasses':
      if (world.watermark === null) return false
      world.watermark.marginPassed = true
      return true
    case 'raise': {
      const { watermark } = world
      if (watermark !== null && (step.retentionHours > watermark.hours || !watermark.marginPassed)) return false
      world.watermark = { hours: step.retentionHours, marginPassed: false }
      return true
    }
    case 'sweep': {
      const { watermark } = world
      if (watermark === null || !watermark.marginPassed) return 0
      const deleted = NAMES.filter((operation) => {
        const row = world.rows[operation]
        if (row === null || operation === passedBy || OPERATIONS[operation].ageHours < watermark.hours) return false
        return !(row.status === 'in_flight' && (row.lease === 'lives' || row.onUnknown === 'manual'))
      })
      for (const operation of deleted) world.rows[operation] = null
      return deleted.length
    }
  }
}

function won(world: World, step: { operation: OperationName; holder: Holder }, fence: number): Reply {
  world.given[step.operation][step.holder] = fence
  // The policy of the row, whoever asks.
  return { kind: 'won', fence, onUnknown: world.rows[step.operation]?.onUnknown } as Reply
}

function write(row: Row | null, change: Partial<Row>): boolean {
  if (row !== null) Object.assign(row, change)
  return row !== null
}

function heldRow(world: World, { operation, fence }: { operation: OperationName; fence: number }): Row | null {
  const row = world.rows[operation]
  return row?.status === 'in_flight' && row.fence === fence ? row : null
}

function leftBehindRow(world: World, { operation }: { operation: OperationName }): Row | null {
  const row = world.rows[operation]
  return row !== null && isLeftBehind(row) ? row : null
}

/** Released, or abandoned. */
export function isLeftBehind(row: Row): boolean {
  return row.status === 'released' || isAbandoned(row)
}

function isAbandoned(row: Row): boolean {
  return row.status === 'in_flight' && row.lease === 'over'
}

function stored(outcome: Outcome): Row['settled'] {
  switch (outcome.kind) {
    case 'value':
      return { kind: 'value', text: outcome.result }
    case 'error':
      return { kind: 'error', text: outcome.shape }
    case 'tombstone':
      return { kind: 'tombstone', text: outcome.reason }
  }
}
