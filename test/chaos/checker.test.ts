import { expect, test } from 'vitest'
import { check } from './checker/check.js'
import type { Facts } from './facts.js'
import { type Attempt, type Call, type Delivery, type End, emptyHistory, type History, type Intent } from './history.js'

const ORDER: Intent = { number: 7, customer: 'ann', procedure: 'order.createOnce', aged: false }
const CHECKOUT: Intent = { ...ORDER, procedure: 'checkout' }
const KEY = '01890000-0000-7000-8000-000000000007'
const FORTY_TWO = '{"id":42,"customer":"ann","item":"tea","cents":7}'
const PAID = '{"id":5,"chargeId":"ch_1","cents":7}'

const answer = (text: string): End => ({ kind: 'answer', text })
const NOTHING: End = { kind: 'nothing' }
const refused = (reason: string | undefined, attemptOutcome: 'NOT_EXECUTED' | 'UNKNOWN' = 'NOT_EXECUTED'): End => ({
  kind: 'error',
  code: 'CONFLICT',
  reason,
  attemptOutcome,
})

const A_TRY = { intent: 7, key: KEY, customer: 'ann', call: '7/first.1', attempt: 1, startMs: 100, endMs: 200 }
const attempt = (end: End, other: Partial<Attempt> = {}): Attempt => ({ ...A_TRY, kind: 'attempt', end, ...other })
const delivery = (end: End, other: Partial<Delivery> = {}): Delivery => {
  const received = { startMs: 110, endMs: 190, server: 'server 1', copy: false }
  return { ...A_TRY, ...received, kind: 'delivery', end, ...other }
}
const call = (outcome: Call['outcome'], other: Partial<Call> = {}): Call => {
  const ended = { intent: 7, key: KEY, call: '7/first.1', endMs: 200 }
  return { ...ended, kind: 'call', outcome, reason: undefined, ...other }
}
const row = { table: 'orders', id: 42, customer: 'ann', intent: 7, writtenMs: 150, chargeId: undefined } as const
const payment = { ...row, table: 'payments', id: 5, chargeId: 'ch_1' } as const
const charge = { id: 'ch_1', customer: 'ann', intent: 7, idempotencyKey: 'derived', madeAtMs: 140 }
const point = { key: KEY, customer: 'ann', chargeId: 'ch_1' }

/** An order that was acknowledged at its first attempt; `other` says what was otherwise. */
const ordered = (other: Partial<History> = {}): History => ({
  ...emptyHistory(),
  intents: [ORDER],
  attempts: [attempt(answer(FORTY_TWO))],
  deliveries: [delivery(answer(FORTY_TWO))],
  calls: [call('EXECUTED')],
  ...other,
})
const checkedOut = (other: Partial<History> = {}): History => ({
  ...ordered({ attempts: [attempt(answer(PAID))], deliveries: [delivery(answer(PAID))] }),
  intents: [CHECKOUT],
  ...other,
})
/** An order of which the link said NOT_EXECUTED, after one attempt that the server refused. */
const left = (other: Partial<History> = {}): History =>
  ordered({
    attempts: [attempt(refused('STORE_UNAVAILABLE'))],
    deliveries: [delivery(refused('STORE_UNAVAILABLE'))],
    calls: [call('NOT_EXECUTED')],
    ...other,
  })
const facts = (other: Partial<Facts> = {}): Facts => ({ effects: [], charges: [], points: [], ...other })
const paid: Facts = { effects: [payment], charges: [charge], points: [point] }

const told = (history: History, there: Facts) =>
  check(history, there).map(({ rule, sentence }) => `${rule}: ${sentence}`)

test.each<[string, History, Facts]>([
  ['an order that was acknowledged and is there', ordered(), facts({ effects: [row] })],
  ['a checkout that was charged, recorded and paid', checkedOut(), paid],
  ['an order that was refused and is not there', left(), facts()],
  [
    'an answer that got lost and is given again',
    ordered({
      attempts: [attempt(NOTHING), attempt(answer(FORTY_TWO), { attempt: 2, startMs: 300, endMs: 400 })],
      deliveries: [delivery(answer(FORTY_TWO)), delivery(answer(FORTY_TWO), { attempt: 2, startMs: 310, endMs: 390 })],
    }),
    facts({ effects: [row] }),
  ],
  [
    'an order that a copy of the network placed after its request had been refused',
    left({ deliveries: [delivery(refused('IN_FLIGHT')), delivery(NOTHING, { copy: true, startMs: 120 })] }),
    facts({ effects: [row] }),
  ],
  [
    'an order that another call placed after the first was refused',
    left({
      deliveries: [delivery(refused(undefined)), delivery(NOTHING, { call: '7/second.1', startMs: 120 })],
      calls: [call('NOT_EXECUTED'), call('UNKNOWN', { call: '7/second.1' })],
    }),
    facts({ effects: [row] }),
  ],
  [
    'an order that was placed by an attempt that went on after its client was told UNKNOWN',
    ordered({
      attempts: [attempt(refused(undefined, 'UNKNOWN'))],
      deliveries: [delivery(refused(undefined, 'UNKNOWN'))],
      calls: [call('UNKNOWN')],
    }),
    facts({ effects: [{ ...row, writtenMs: 900 }] }),
  ],
  [
    'an order that was placed after its connection had been cut',
    ordered({ attempts: [attempt(NOTHING)], deliveries: [delivery(NOTHING)], calls: [call('UNKNOWN')] }),
    facts({ effects: [{ ...row, writtenMs: 900 }] }),
  ],
  [
    'a checkout whose key was swept between its charge and its record',
    checkedOut({
      intents: [{ ...CHECKOUT, aged: true }],
      attempts: [attempt(NOTHING), attempt(refused('KEY_TOO_OLD'))],
      deliveries: [delivery(NOTHING), delivery(refused('KEY_TOO_OLD'), { attempt: 2 })],
      calls: [call('UNKNOWN', { reason: 'KEY_TOO_OLD' })],
    }),
    facts({ charges: [charge] }),
  ],
])('%s is no violation', (_, history, there) => {
  expect(told(history, there)).toEqual([])
})

test.each<[string, History, Facts, string[]]>([
  [
    'an acknowledged order without a row',
    ordered(),
    facts(),
    ['effects: it was acknowledged and has no effect', 'answers: an answer names effect 42, which is not there'],
  ],
  [
    'an order whose only answer got lost, without a row',
    ordered({ attempts: [attempt(NOTHING)], calls: [call('UNKNOWN')] }),
    facts(),
    ['effects: it was acknowledged and has no effect', 'answers: an answer names effect 42, which is not there'],
  ],
  ['an order with two rows', ordered(), facts({ effects: [row, { ...row, id: 43 }] }), ['effects: it has 2 effects']],
  [
    'two rows of an order that nobody acknowledged',
    ordered({ attempts: [attempt(NOTHING)], deliveries: [delivery(NOTHING)], calls: [call('UNKNOWN')] }),
    facts({ effects: [row, { ...row, id: 43 }] }),
    ['effects: it has 2 effects'],
  ],
  [
    'a row that nobody wanted',
    ordered(),
    facts({ effects: [row, { ...row, id: 50, intent: 8 }] }),
    [
      'effects: there is an effect that nobody wanted',
      'claims: every attempt that can have made row 50 of orders was told that it was NOT_EXECUTED',
    ],
  ],
  [
    'an order for another customer',
    ordered(),
    facts({ effects: [{ ...row, customer: 'bob' }] }),
    ['effects: it has an effect of another procedure or for another customer'],
  ],
  [
    'a payment for an order',
    ordered({ attempts: [attempt(answer(PAID))], deliveries: [delivery(answer(PAID))] }),
    facts({ effects: [payment] }),
    ['effects: it has an effect of another procedure or for another customer'],
  ],
  [
    'two answers to one key that differ',
    ordered({ deliveries: [delivery(answer(FORTY_TWO)), delivery(answer('{"id":42,"cents":8}'), { attempt: 2 })] }),
    facts({ effects: [row] }),
    ['answers: it was answered in 2 ways'],
  ],
  [
    'an answer that the client made up',
    ordered({ deliveries: [delivery(NOTHING)] }),
    facts({ effects: [row] }),
    ['answers: a client was given an answer that no server had given'],
  ],
  [
    'an answer that names another row than that which is there',
    ordered(),
    facts({ effects: [{ ...row, id: 43 }] }),
    ['answers: an answer names effect 42, which is not there'],
  ],
  [
    'a checkout that was charged twice',
    checkedOut(),
    { ...paid, charges: [charge, { ...charge, id: 'ch_2', idempotencyKey: 'other' }] },
    ['charges: it was charged 2 times'],
  ],
  [
    'a checkout that was paid and never charged',
    checkedOut(),
    { ...paid, charges: [] },
    [
      'charges: it has a recovery point of a charge that was not made',
      'charges: it was settled and not charged',
      'charges: it has a payment for a charge that was not made',
    ],
  ],
  [
    'a charge of a settled checkout without a recovery point',
    checkedOut(),
    { ...paid, points: [] },
    ['charges: it was settled and has no recovery point of its charge'],
  ],
  [
    'two recovery points of one charge',
    checkedOut(),
    { ...paid, points: [point, { ...point, key: `${KEY.slice(0, -1)}8` }] },
    ['charges: it has 2 recovery points of a charge'],
  ],
  [
    'a charge for an order',
    ordered(),
    facts({ effects: [row], charges: [charge] }),
    ['charges: there is a charge that nobody wanted'],
  ],
  [
    'a recovery point of no intent',
    ordered(),
    facts({ effects: [row], points: [{ key: 'unknown', customer: 'ann', chargeId: 'ch_9' }] }),
    ['charges: there is a charge that nobody wanted', 'charges: it has a recovery point of a charge that was not made'],
  ],
  [
    'a row of an order whose only attempt was told NOT_EXECUTED by the server',
    left(),
    facts({ effects: [row] }),
    ['claims: every attempt that can have made row 42 of orders was told that it was NOT_EXECUTED'],
  ],
  [
    'a row of an order of which the link said NOT_EXECUTED, although an attempt had no answer',
    left({ attempts: [attempt(NOTHING)], deliveries: [delivery(NOTHING)] }),
    facts({ effects: [row] }),
    ['claims: every attempt that can have made row 42 of orders was told that it was NOT_EXECUTED'],
  ],
  [
    'a row that was there before the only attempt that was not told NOT_EXECUTED',
    left({
      deliveries: [
        delivery(refused('STORE_UNAVAILABLE')),
        delivery(answer(FORTY_TWO), { attempt: 2, call: '7/first.2', startMs: 300, endMs: 390 }),
      ],
      calls: [call('NOT_EXECUTED'), call('EXECUTED', { call: '7/first.2', endMs: 400 })],
    }),
    facts({ effects: [row] }),
    ['claims: every attempt that can have made row 42 of orders was told that it was NOT_EXECUTED'],
  ],
  [
    'a row that was written after the only attempt that could write it had been answered',
    ordered(),
    facts({ effects: [{ ...row, writtenMs: 500 }] }),
    ['claims: every attempt that can have made row 42 of orders was told that it was NOT_EXECUTED'],
  ],
  [
    'a charge of a checkout that was told NOT_EXECUTED',
    left({ intents: [CHECKOUT] }),
    facts({ charges: [charge] }),
    ['claims: every attempt that can have made charge ch_1 was told that it was NOT_EXECUTED'],
  ],
  [
    'a refusal for another input, of an intent that has one',
    ordered({ deliveries: [delivery(answer(FORTY_TWO)), delivery(refused('KEY_REUSED'), { copy: true })] }),
    facts({ effects: [row] }),
    ['refusals: it was refused with KEY_REUSED'],
  ],
  [
    'a young key that is too old',
    left({ deliveries: [delivery(refused('KEY_TOO_OLD'))] }),
    facts(),
    ['refusals: it was refused with KEY_TOO_OLD'],
  ],
  [
    'an intent that was sent with two keys',
    ordered({ deliveries: [delivery(answer(FORTY_TWO)), delivery(NOTHING, { key: `${KEY.slice(0, -1)}8` })] }),
    facts({ effects: [row] }),
    ['keys: it was sent with 2 keys'],
  ],
  [
    'an outcome that stayed unknown',
    left({ unresolved: [7], calls: [call('UNKNOWN')] }),
    facts(),
    ['resolution: its outcome stayed unknown after everything worked again'],
  ],
])('%s is found', (_, ...[history, there, sentences]) => {
  expect(told(history, there)).toEqual(sentences)
})

test('a violation comes with what happened to its intent and around it, and with nothing else', () => {
  const history = left({ intents: [CHECKOUT, { ...ORDER, number: 8 }] })
  history.attempts.push(attempt(NOTHING, { intent: 8, call: '8/first.1' }))
  history.disasters.push(
    { kind: 'disaster', startMs: 150, endMs: 1150, text: 'server 1 is stopped' },
    { kind: 'disaster', startMs: 150_000, endMs: 150_000, text: 'server 2 is killed' },
  )
  const [violation, ...others] = check(history, facts({ charges: [charge], points: [point] }))
  expect(others).toEqual([])
  expect(violation).toEqual({
    rule: 'claims',
    intent: 7,
    sentence: 'every attempt that can have made charge ch_1 was told that it was NOT_EXECUTED',
    history: [
      '   0.000 s  attempt 1 of call 7/first.1',
      '   0.010 s  a delivery of attempt 1 of call 7/first.1 to server 1',
      '   0.040 s  the provider makes charge ch_1',
      '   0.050 s  server 1 is stopped',
      '   0.090 s  (a delivery of attempt 1 of call 7/first.1 to server 1) fails: CONFLICT for STORE_UNAVAILABLE, NOT_EXECUTED',
      '   0.100 s  (attempt 1 of call 7/first.1) fails: CONFLICT for STORE_UNAVAILABLE, NOT_EXECUTED',
      '   0.100 s  call 7/first.1 ends: NOT_EXECUTED',
      '   1.050 s  (over: server 1 is stopped)',
      'in the end     there is a recovery point of charge ch_1',
    ],
  })
})
