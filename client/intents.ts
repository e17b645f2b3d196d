import type { Operation } from '@trpc/client'
import { KEY_PATTERN } from '../wire/key.js'
import { mintKey } from './mint.js'
import { currentScope } from './scope.js'

/** One thing that the user wants done once, however often it is sent. */
export interface Intent {
  key: string
  /** Whether the key was made for this very call. One that the caller brought may have been sent before, by others. */
  readonly minted: boolean
  /** How often it was sent. */
  attempts: number
  /** Whether one of its attempts may have been executed. */
  outcomeUnknown: boolean
  /** Whether whoever made it is still signed in, where somebody knows. */
  isOurs?: (() => boolean) | undefined
}

/** In the context of an operation that an earlier page may have sent. */
export const RESUMED = 'idempotencyResumed'

export interface Intents {
  /**
   * The intent of an operation: the same one whenever the operation comes by, as it does when a link above retries.
   *
   * @throws TypeError where `context.idempotencyKey` is given and is no key
   */
  of(op: Operation): Intent
  /** Forgets an intent whose outcome is known: if it is sent again, that is a new one. */
  end(op: Operation): void
  /** Learns what time it is by the server's clock, for all keys that are made from now on. */
  learnTime(serverTimeMs: number): void
  /** Gives an intent another key. Only where it is certain that nothing will ever be executed with the present one. */
  renameKey(intent: Intent): void
}

/**
 * Intents whose outcome stayed unknown are kept, in case a link above sends the operation once more. Nothing tells when
 * that can no longer happen, so the oldest go first past this number; at about 100 bytes each, a megabyte.
 */
const MOST_KEPT = 10_000

/**
 * Keeps the intents of one client by the id of their operation. Not by the operation itself: other links clone it. And
 * not in its context: two operations can share one context object.
 */
export function createIntents(): Intents {
  const byId = new Map<number, Intent>()
  let clockIsBehindMs = 0
  const mint = () => mintKey(Date.now() + clockIsBehindMs)
  return {
    of(op) {
      const known = byId.get(op.id)
      if (known !== undefined) return known
      const scope = currentScope()
      const given = givenKey(op) ?? scope?.takeKey(op.path)
      const intent: Intent = {
        key: given ?? mint(),
        minted: given === undefined,
        attempts: 0,
        outcomeUnknown: RESUMED in op.context,
        isOurs: scope?.isOurs,
      }
      byId.set(op.id, intent)
      if (byId.size > MOST_KEPT) byId.delete(byId.keys().next().value as number)
      return intent
    },
    end(op) {
      byId.delete(op.id)
    },
    learnTime(serverTimeMs) {
      clockIsBehindMs = Math.round(serverTimeMs) - Date.now()
    },
    renameKey(intent) {
      intent.key = mint()
    },
  }
}

function givenKey(op: Operation): string | undefined {
  if (!('idempotencyKey' in op.context)) return undefined
  const key = op.context['idempotencyKey']
  if (typeof key === 'string' && KEY_PATTERN.test(key)) return key
  // A key that is present and undefined is a forgotten one. A fresh key in its place would send the intent twice.
  throw new TypeError(`${op.path}: context.idempotencyKey must be a UUIDv7 in lower case, got ${String(key)}`)
}
