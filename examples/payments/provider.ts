import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { type Listening, listen } from '../support/listen.js'
import type { Charge, ChargeInput } from './charge.js'
import { type Faults, fateOf } from './fate.js'

/** How long the provider takes for a charge, in ms: long enough that its callers are in it when they are killed. */
const CHARGING_MS = 20

/** How far the provider is with a call. */
export type Moment = 'asked' | 'charged' | 'answered'

export interface Call {
  customer: string
  /** The process that asked. */
  caller: number
}

/** A charge that was made, as it stands in the provider's books. */
export interface BookedCharge extends Charge, ChargeInput {
  idempotencyKey: string
  madeAtMs: number
}

export interface Provider extends Listening {
  /** How many charges it made. */
  charges(): number
  /** These charges, in their order. */
  books(): BookedCharge[]
  calls(): number
  /** How many of these calls it did not answer. */
  unanswered(): number
}

/**
 * A payment provider with idempotency keys of its own: it charges once for a key, however often it is asked, and gives
 * the same charge to all who ask. Sometimes it charges and then says nothing, or its reply is cut off half way.
 *
 * @param onMoment is told of every call how far it is
 */
export async function startProvider(faults: Faults, onMoment: (moment: Moment, call: Call) => void): Promise<Provider> {
  const charges = new Map<string, BookedCharge>()
  const seen = new Map<string, number>()
  let calls = 0
  let unanswered = 0

  const server = createServer((request, response) => {
    // The caller died while asking: there is nobody to answer.
    serve(request, response).catch(() => response.destroy())
  })

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { customer, cents } = (await json(request)) as ChargeInput
    const idempotencyKey = String(request.headers['idempotency-key'])
    const call = { customer, caller: Number(request.headers['x-caller']) }
    const nth = (seen.get(customer) ?? 0) + 1
    seen.set(customer, nth)
    calls += 1
    onMoment('asked', call)
    await pause(CHARGING_MS)
    const charge = charges.get(idempotencyKey) ?? {
      id: `ch_${charges.size + 1}`,
      customer,
      cents,
      idempotencyKey,
      madeAtMs: Date.now(),
    }
    charges.set(idempotencyKey, charge)
    onMoment('charged', call)
    const fate = fateOf(customer, nth, faults)
    if (fate !== 'answer') unanswered += 1
    const reply = JSON.stringify({ id: charge.id } satisfies Charge)
    response.setHeader('content-type', 'application/json').setHeader('content-length', reply.length)
    switch (fate) {
      case 'answer':
        response.end(reply)
        return onMoment('answered', call)
      case 'silence':
        // The connection stays open until the caller has lost its patience.
        return
      case 'cut':
        response.write(reply.slice(0, reply.length / 2), () => response.destroy())
    }
  }

  return {
    ...(await listen(server)),
    charges: () => charges.size,
    books: () => [...charges.values()],
    calls: () => calls,
    unanswered: () => unanswered,
  }
}
