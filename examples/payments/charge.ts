import process from 'node:process'

/** How long the shop waits for its provider, in ms; by far longer than the provider takes when it answers at all. */
const PATIENCE_MS = 500

export interface ChargeInput {
  customer: string
  cents: number
}

export interface Charge {
  id: string
}

export interface ChargeOptions {
  /** One key is charged once: who does not know whether it was charged asks again with the same one. */
  idempotencyKey: string
  signal: AbortSignal
}

/**
 * Asks the provider to charge a customer.
 *
 * @throws Error where there is no answer; the customer may have been charged all the same
 */
export async function charge(url: string, input: ChargeInput, options: ChargeOptions): Promise<Charge> {
  const { idempotencyKey, signal } = options
  // Not AbortSignal.timeout: within AbortSignal.any, Node.js collects it as garbage before its time has come, and then the
  // checkout waits for ever, and its lease is renewed for ever (https://github.com/nodejs/node/issues/57736).
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(new Error('The provider did not answer in time.')), PATIENCE_MS)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
        // So that this example can kill the right server. A real provider does not care.
        'x-caller': String(process.pid),
      },
      body: JSON.stringify(input),
      signal: AbortSignal.any([signal, patience.signal]),
    })
    if (!response.ok) throw new Error(`The provider answered ${response.status}.`)
    return (await response.json()) as Charge
  } finally {
    clearTimeout(timer)
  }
}
