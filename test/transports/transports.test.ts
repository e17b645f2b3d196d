import { v7 } from 'uuid'
import { expect, test } from 'vitest'
import { useDatabase } from '../support/database/testDatabase.js'
import { expectedTranscript } from './expected.js'
import { clear, rowsOf } from './rows.js'
import { newKeys, oneByOne, severalAtOnce, twinsAtOnce } from './script.js'
import { type ShopOptions, shopRouter } from './shop.js'
import { none, richNote, withDevalue, withSuperjson } from './transformers.js'
import type { Caller, Transport } from './transport.js'
import { transports } from './transports.js'

const db = useDatabase()

const CARRYING = [none, withSuperjson, withDevalue] as const

const rows = transports.flatMap((transport) =>
  CARRYING.map((carrying) => [transport.name, carrying.name, { transport, carrying }] as const),
)

const CREATE = 'shop.order.create'

test.each(rows)('over %s, with %s, a repeat is a replay', async (_, __, { transport, carrying }) => {
  const alice = (await opened(transport, carrying.transformer))('alice')
  const input = { item: 'tea', cents: 350, note: carrying.note }
  const key = v7()
  const first = await alice.call(CREATE, input, key)
  expect(first).toStrictEqual({ ...input, note: carrying.arrives, run: 1 })
  expect(await alice.call(CREATE, input, key)).toStrictEqual(first)
  expect(await db.runs(`alice ${key}`)).toBe(1)
  expect(await db.orders()).toEqual([{ customer: 'alice', item: 'tea', cents: 350 }])
})

test.each(rows)(
  'over %s, with %s, the same mutations have the same answers, errors, replays and rows as everywhere',
  async (_, __, { transport, carrying: { transformer, note, arrives } }) => {
    const connect = await opened(transport, transformer)
    const cast = { alice: connect('alice'), bob: connect('bob'), note }
    const keys = newKeys()
    const calls = await oneByOne(cast, keys)
    const twins = await twinsAtOnce(cast, keys)
    const before = cast.alice.requests.length
    const several = await severalAtOnce(cast, keys)
    // What is meant to be a batch was one.
    expect(cast.alice.requests.slice(before)).toEqual(transport.requests)
    const transcript = { oneByOne: calls, twins, several, rows: await rowsOf(db, keys, transformer) }
    expect(transcript).toStrictEqual(expectedTranscript(arrives))
  },
)

test.each(CARRYING.map((carrying) => [carrying.name, carrying] as const))(
  'with %s, one intent that goes over all transports at once runs once, and is replayed over each of them afterwards',
  async (_, { transformer, note, arrives }) => {
    await clear(db)
    const shop = { db, transformer }
    const router = shopRouter(shop)
    const callers: Caller[] = []
    for (const { open } of transports) callers.push((await open({ ...shop, router }))('alice'))
    const input = { item: 'tea', cents: 350, note }
    const key = v7()
    const send = () => Promise.all(callers.map((caller) => caller.call(CREATE, input, key)))
    const answers = [...(await send()), ...(await send())]
    expect(answers).toStrictEqual(answers.map(() => ({ ...input, note: arrives, run: 1 })))
    expect(await db.runs(`alice ${key}`)).toBe(1)
    expect(await db.orders()).toEqual([{ customer: 'alice', item: 'tea', cents: 350 }])
  },
)

// What JSON would make of each part of the note: a comparison that took it for the same would prove nothing.
const asJson: [name: keyof typeof richNote, value: unknown][] = [
  ['date', '1970-01-02T00:00:00.000Z'],
  ['bigint', '18446744073709551616'],
  ['map', {}],
  ['set', {}],
  ['minusZero', 0],
  ['notANumber', null],
]

test.each(asJson)('the comparison notices when the %s of a note is lost', (name, value) => {
  const { oneByOne: whole } = expectedTranscript(richNote)
  const { oneByOne: spoilt } = expectedTranscript({ ...richNote, [name]: value })
  expect(spoilt).not.toStrictEqual(whole)
})

test('the comparison notices when a property that is undefined is left out', () => {
  const { undefined: _, ...spoilt } = richNote
  expect(expectedTranscript(spoilt)).not.toStrictEqual(expectedTranscript(richNote))
})

/** A transport to a router of its own, and to a database in which nothing has happened. */
async function opened({ open }: Transport, transformer: ShopOptions['transformer']) {
  await clear(db)
  const shop = { db, transformer }
  return open({ ...shop, router: shopRouter(shop) })
}
