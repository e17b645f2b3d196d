/** What every transport has to answer, and to leave behind. Written out by hand: one transcript for all of them. */
export function expectedTranscript(note: unknown) {
  const tea = { item: 'tea', cents: 350, note, run: 1 }
  const milk = { item: 'milk', cents: 120, note, run: 1 }
  const bread = { item: 'bread', cents: 270, note, run: 1 }
  const soup = { item: 'soup', cents: 560, note, run: 1 }
  const rice = { item: 'rice', cents: 230, note, run: 1 }
  const plum = { item: 'plum', run: 2 }
  // The charge was recorded by the run that failed, and is not made again.
  const cake = { charge: { inRun: 1, note }, run: 2 }
  return {
    oneByOne: {
      first: { answer: tea },
      repeat: { answer: tea },
      'another input': { error: reused('shop.order.create') },
      'another mutation': { error: reused('shop.order.confirm') },
      'no key': { error: KEY_MISSING },
      'malformed key': { error: KEY_INVALID },
      'another user': { answer: tea },
      'refused input': { error: NOT_A_NUMBER },
      'put right': { answer: milk },
      'failed handler': { error: SOLD_OUT },
      'tried again': { answer: plum },
      'replayed after all': { answer: plum },
      'answered nothing': { answer: undefined },
      'replayed nothing': { answer: undefined },
      'failed after the charge': { error: TILL_CLOSED },
      resumed: { answer: cake },
      'replayed charge': { answer: cake },
    },
    twins: [{ answer: bread }, { answer: bread }],
    several: [
      { answer: soup },
      { answer: soup },
      { answer: rice },
      { error: reused('shop.order.confirm') },
      { error: SOLD_OUT },
      { error: TILL_CLOSED },
    ],
    rows: {
      orders: [
        { customer: 'alice', item: 'bread', cents: 270 },
        { customer: 'alice', item: 'bread', cents: 270 },
        { customer: 'alice', item: 'cake, paid', cents: 410 },
        { customer: 'alice', item: 'milk', cents: 120 },
        { customer: 'alice', item: 'plum, reserved', cents: 90 },
        { customer: 'alice', item: 'rice', cents: 230 },
        { customer: 'alice', item: 'soup', cents: 560 },
        { customer: 'alice', item: 'tea', cents: 350 },
        { customer: 'bob', item: 'tea', cents: 350 },
        { customer: 'alice', item: 'tea, confirmed', cents: 350 },
      ],
      keys: [
        { key: 'tea', ...SETTLED, procedure: 'shop.order.create', result: tea },
        { key: 'tea', ...SETTLED, scope: 'bob', procedure: 'shop.order.create', result: tea },
        { key: 'milk', ...SETTLED, procedure: 'shop.order.create', result: milk },
        { key: 'plum', ...SETTLED, procedure: 'shop.stock.reserve', result: plum },
        { key: 'nothing', ...SETTLED, procedure: 'shop.order.confirm', result: undefined },
        { key: 'card', ...SETTLED, procedure: 'shop.pay', result: cake, fence: 2, attempts: 2, on_unknown: 'retry' },
        { key: 'one', ...SETTLED, procedure: 'shop.order.create', result: bread },
        { key: 'other', ...SETTLED, procedure: 'shop.order.create', result: bread },
        { key: 'pair', ...SETTLED, procedure: 'shop.order.create', result: soup },
        { key: 'third', ...SETTLED, procedure: 'shop.order.create', result: rice },
        { key: 'cash', ...RELEASED, procedure: 'shop.pay', result: undefined },
      ],
      points: [
        { key: 'card', scope: 'alice', name: 'charge', result: { inRun: 1, note }, fence: 1 },
        { key: 'card', scope: 'alice', name: 'order', result: undefined, fence: 2 },
        { key: 'cash', scope: 'alice', name: 'charge', result: { inRun: 1, note }, fence: 1 },
      ],
      runs: {
        'alice tea': 1,
        'bob tea': 1,
        'alice milk': 1,
        'alice plum': 2,
        'alice nothing': 1,
        'alice card': 2,
        'alice one': 1,
        'alice other': 1,
        'alice pair': 1,
        'alice third': 1,
        'alice lost': 1,
        'alice cash': 1,
      },
    },
  }
}

const SETTLED = {
  scope: 'alice',
  status: 'settled',
  result_kind: 'value',
  fence: 1,
  on_unknown: null,
  attempts: 1,
  settled: true,
}

const RELEASED = {
  scope: 'alice',
  status: 'released',
  result_kind: null,
  fence: 1,
  on_unknown: 'retry',
  attempts: 1,
  settled: false,
}

const reused = (path: string) => ({
  code: 'UNPROCESSABLE_CONTENT',
  httpStatus: 422,
  message: `${path}: this idempotency key was used before for another input or another procedure. A new intent needs a new key.`,
  reason: 'KEY_REUSED',
  attemptOutcome: 'NOT_EXECUTED',
})

const KEY_MISSING = {
  code: 'BAD_REQUEST',
  httpStatus: 400,
  message:
    "shop.order.create: this mutation needs an idempotency key. Let the client use idempotencyLink with this path in its option mutations; in the server's own process use withIdempotencyKey. Keys in the header Idempotency-Key are read where createIdempotency has the option headers.",
  reason: 'KEY_MISSING',
  attemptOutcome: 'NOT_EXECUTED',
}

const KEY_INVALID = {
  code: 'BAD_REQUEST',
  httpStatus: 400,
  message: "shop.order.create: 'undefined' is no UUIDv7. An idempotency key is a UUIDv7 in lower case.",
  reason: 'KEY_INVALID',
  attemptOutcome: 'NOT_EXECUTED',
}

/** Of zod, as tRPC hands it on. */
const NOT_A_NUMBER = {
  code: 'BAD_REQUEST',
  httpStatus: 400,
  message: `[
  {
    "expected": "number",
    "code": "invalid_type",
    "path": [
      "cents"
    ],
    "message": "Invalid input: expected number, received string"
  }
]`,
}

/** Of a handler: its own code, and not a word of the library, for nothing was left behind. */
const SOLD_OUT = { code: 'CONFLICT', httpStatus: 409, message: 'sold out' }

/** Of a handler that had charged: its client must not take it for undone. */
const TILL_CLOSED = {
  code: 'PRECONDITION_FAILED',
  httpStatus: 412,
  message: 'the till is closed',
  attemptOutcome: 'UNKNOWN',
}
