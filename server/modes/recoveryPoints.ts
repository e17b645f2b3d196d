import { derivedKey } from '../engine/derivedKey.js'
import type { StoredResult } from '../engine/record.js'
import { toStorable } from '../engine/result.js'
import type { Serializer } from '../engine/serializer.js'
import { type IdempotencyError, isIdempotencyError } from '../errors.js'
import { readPoint } from '../readStored.js'
import { pointRefused, refusal, storeUnavailable } from '../refusals.js'
import type { Held, LeaseStore, RecordedPoint } from '../store/leaseStore.js'
import type { LeaseHolder } from './leaseHolder.js'
import type { LeaseSettings } from './leaseSettings.js'
import { pauseBeforeRerun } from './pauses.js'

/** What a recovery point's function is given. */
export interface PointCall {
  /** The key to give to the outside service: the same in every attempt at this operation. A UUIDv7. */
  readonly key: string
  /** Aborts when the lease is lost. What was sent may arrive all the same. */
  readonly signal: AbortSignal
}

/** Named parts of a leased operation whose results survive a takeover. */
export interface RecoveryPoint<Tx> {
  /**
   * Runs `fn` unless an attempt before this one recorded its result, and then gives that. Points are reached one after
   * the other, in the same order in every attempt.
   *
   * @throws whatever `fn` throws; IdempotencyError LEASE_LOST where another attempt has taken over; Error where names or
   *   their order differ from what was recorded
   */
  <T>(name: string, fn: (call: PointCall) => T | Promise<T>): Promise<T>
  /** The same for a part that writes to the database: what it writes through `tx` commits together with its record. */
  tx<T>(name: string, fn: (tx: Tx) => T | Promise<T>): Promise<T>
}

export interface PointSurroundings<Tx> {
  store: LeaseStore<Tx>
  serializer: Serializer
  settings: LeaseSettings
  held: Held
  holder: LeaseHolder
  /** What attempts before this one recorded. */
  recorded: readonly RecordedPoint[]
}

/** The recovery points of one attempt, and whether any is recorded, by it or before it. */
export function recoveryPoints<Tx>(surroundings: PointSurroundings<Tx>): {
  recoveryPoint: RecoveryPoint<Tx>
  isRecorded(): boolean
} {
  const { store, serializer, settings, held, holder, recorded } = surroundings
  const { operation } = held
  const reached: string[] = []
  let running: string | undefined
  let anyRecorded = recorded.length > 0

  /** Runs one point at a time; gives what was recorded of it, if anything was. */
  const reach = async <T>(name: string, run: () => Promise<RecordedPoint['result']>): Promise<T> => {
    holder.check()
    const complaint = orderComplaint(name, { reached, running, recorded })
    if (complaint !== undefined) throw new Error(`${operation.procedure}: ${complaint}`)
    const known = recorded[reached.length]
    reached.push(name)
    if (known !== undefined) return readPoint(known.result, { procedure: operation.procedure, serializer }) as T
    running = name
    try {
      const result = await run()
      anyRecorded = true
      return readPoint(result, { procedure: operation.procedure, serializer }) as T
    } finally {
      running = undefined
    }
  }

  const storable = (name: string, data: unknown): StoredResult => {
    const made = toStorable(data, serializer, settings.maxResultBytes)
    if (!made.ok) throw pointRefused(operation, name, made)
    return made.result
  }

  /** Records a result; a record whose answer was lost is asked for. */
  const record = async (name: string, result: StoredResult): Promise<RecordedPoint['result']> => {
    for (let tries = 0; ; tries += 1) {
      try {
        if (await store.record(held, name, result)) return result
        return await recordedBySelf(name)
      } catch (cause) {
        if (isIdempotencyError(cause) || tries >= settings.maxReruns) throw unavailable(cause)
        await pauseBeforeRerun(tries)
      }
    }
  }

  /** A point that is there although this attempt was not told so: it is ours if the fence is, else the lease is lost. */
  const recordedBySelf = async (name: string): Promise<RecordedPoint['result']> => {
    const point = (await store.points(operation)).find((found) => found.name === name)
    if (point === undefined || point.fence !== held.fence) throw holder.lost()
    return point.result
  }

  const unavailable = (cause: unknown): IdempotencyError =>
    isIdempotencyError(cause) ? cause : storeUnavailable(operation, { cause, attemptOutcome: 'UNKNOWN' })

  const recordWith = async (name: string, fn: (tx: Tx) => unknown): Promise<RecordedPoint['result']> => {
    for (let tries = 0; ; tries += 1) {
      let result: StoredResult = null
      // By its box, so that an error of the function can be told from the database's, whatever it throws.
      let failed: { error: unknown } | undefined
      try {
        const end = await store.recordWith(held, { name, bounds: settings }, async (tx) => {
          try {
            result = storable(name, await fn(tx))
            return result
          } catch (error) {
            failed = { error }
            throw error
          }
        })
        if (end.kind === 'recorded') return result
        if (end.kind === 'known') return await recordedBySelf(name)
        if (end.kind === 'escaped') throw refusal('TRANSACTION_ESCAPED', operation)
        throw holder.lost()
      } catch (error) {
        const own = failed as { error: unknown } | undefined
        const conflict = store.faultOf(own === undefined ? error : own.error) === 'conflict'
        // The function's own error, with everything undone.
        if (own !== undefined && !conflict) throw own.error
        if (isIdempotencyError(error) || tries >= settings.maxReruns) throw unavailable(error)
        // A COMMIT without an answer may have taken effect. Run again, its record would collide: then it is known.
        await pauseBeforeRerun(tries)
      }
    }
  }

  const point = <T>(name: string, fn: (call: PointCall) => T | Promise<T>): Promise<T> =>
    reach<T>(name, async () => {
      const call = { key: derivedKey(operation.key, operation.scope, name), signal: holder.signal }
      return record(name, storable(name, await fn(call)))
    })
  const recoveryPoint = Object.assign(point, {
    tx: <T>(name: string, fn: (tx: Tx) => T | Promise<T>): Promise<T> => reach<T>(name, () => recordWith(name, fn)),
  })
  return { recoveryPoint, isRecorded: () => anyRecorded }
}

/** A rerun that takes another way than the record shows would repeat what was done, or skip what was not. */
function orderComplaint(
  name: string,
  {
    reached,
    running,
    recorded,
  }: { reached: string[]; running: string | undefined; recorded: readonly RecordedPoint[] },
): string | undefined {
  if (name === '') return 'a recovery point needs a name'
  if (running !== undefined)
    return `recovery point '${name}' was reached while '${running}' runs; await one after the other`
  if (reached.includes(name))
    return `recovery point '${name}' was reached twice in one run; give each a name of its own`
  const expected = recorded[reached.length]?.name
  if (expected === undefined || expected === name) return undefined
  return `recovery point '${name}' was reached where an earlier attempt had recorded '${expected}'; a handler must reach its points in the same order in every attempt`
}
