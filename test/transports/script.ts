import { withIdempotencyKey } from 'trpc-idempotency/server'
import { v7 } from 'uuid'
import type { Caller, Refusal } from './transport.js'

/** What became of a call. */
export type Outcome = { answer: unknown } | { error: Refusal }

/** The keys of the script, by what they are for. In the order in which they were made, which is that of their rows. */
export const KEYS = ['tea', 'milk', 'plum', 'nothing', 'card', 'one', 'other', 'pair', 'third', 'lost', 'cash'] as const

export type Keys = Record<(typeof KEYS)[number], string>

export function newKeys(): Keys {
  return Object.fromEntries(KEYS.map((name) => [name, v7()])) as Keys
}

/** Two users at one end of a transport, and a value that its transformer carries. */
export interface Cast {
  alice: Caller
  bob: Caller
  note: unknown
}

/** One call after the other, and what became of each. */
export async function oneByOne({ alice, bob, note }: Cast, keys: Keys): Promise<Record<string, Outcome>> {
  const tea = { item: 'tea', cents: 350, note }
  const milk = { item: 'milk', cents: 120, note }
  const plum = { item: 'plum', cents: 90, note }
  const cake = { item: 'cake', cents: 410, note }
  const of = (promise: Promise<unknown>) => outcomeOf(alice, promise)
  return {
    first: await of(alice.call('shop.order.create', tea, keys.tea)),
    repeat: await of(alice.call('shop.order.create', tea, keys.tea)),
    'another input': await of(alice.call('shop.order.create', { ...tea, cents: 1 }, keys.tea)),
    'another mutation': await of(alice.call('shop.order.confirm', tea, keys.tea)),
    'no key': await of(alice.callWithout('shop.order.create', tea)),
    'malformed key': await of(alice.callWithout('shop.order.create', withIdempotencyKey(tea, 'undefined'))),
    'another user': await of(bob.call('shop.order.create', tea, keys.tea)),
    'refused input': await of(alice.call('shop.order.create', { ...milk, cents: 'many' }, keys.milk)),
    'put right': await of(alice.call('shop.order.create', milk, keys.milk)),
    'failed handler': await of(alice.call('shop.stock.reserve', plum, keys.plum)),
    'tried again': await of(alice.call('shop.stock.reserve', plum, keys.plum)),
    'replayed after all': await of(alice.call('shop.stock.reserve', plum, keys.plum)),
    'answered nothing': await of(alice.call('shop.order.confirm', tea, keys.nothing)),
    'replayed nothing': await of(alice.call('shop.order.confirm', tea, keys.nothing)),
    'failed after the charge': await of(alice.call('shop.pay', cake, keys.card)),
    resumed: await of(alice.call('shop.pay', cake, keys.card)),
    'replayed charge': await of(alice.call('shop.pay', cake, keys.card)),
  }
}

/** Two intents that look the same, in one tick. */
export function twinsAtOnce({ alice, note }: Cast, keys: Keys): Promise<Outcome[]> {
  const bread = { item: 'bread', cents: 270, note }
  return outcomesOf(alice, [
    alice.call('shop.order.create', bread, keys.one),
    alice.call('shop.order.create', bread, keys.other),
  ])
}

/** In one tick, and so in one batch where there are batches: a call and its duplicate, and four others. */
export function severalAtOnce({ alice, note }: Cast, keys: Keys): Promise<Outcome[]> {
  const soup = { item: 'soup', cents: 560, note }
  const rice = { item: 'rice', cents: 230, note }
  return outcomesOf(alice, [
    alice.call('shop.order.create', soup, keys.pair),
    alice.call('shop.order.create', soup, keys.pair),
    alice.call('shop.order.create', rice, keys.third),
    alice.call('shop.order.confirm', soup, keys.nothing), // with the key of a tea
    alice.call('shop.stock.reserve', soup, keys.lost),
    alice.call('shop.pay', rice, keys.cash),
  ])
}

function outcomesOf(caller: Caller, calls: Promise<unknown>[]): Promise<Outcome[]> {
  return Promise.all(calls.map((call) => outcomeOf(caller, call)))
}

async function outcomeOf(caller: Caller, call: Promise<unknown>): Promise<Outcome> {
  try {
    return { answer: await call }
  } catch (error) {
    return { error: caller.read(error) }
  }
}
