import { createServer } from 'node:http'
import { listen } from './httpServer.js'

/** An outside service, as its tests see it. */
export interface Provider {
  url: string
  /** How often each key was really charged: more than once is what this library exists to prevent. */
  charges: Map<string, number>
  /** Every call that arrived, in order. */
  calls: string[]
  /** How the next calls are answered; past the end, `reply`. */
  plan: ProviderTurn[]
}

/** `lose`: it charges, and the reply is lost. `refuse`: it does not charge, and says so. */
export type ProviderTurn = 'reply' | 'lose' | 'refuse'

/** A payment provider with idempotency keys of its own: one key is charged once, however often it is asked. */
export async function startProvider(): Promise<Provider> {
  const provider: Provider = { url: '', charges: new Map(), calls: [], plan: [] }
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key'])
    provider.calls.push(key)
    const turn = provider.plan.shift() ?? 'reply'
    if (turn === 'refuse') {
      response.writeHead(402)
      return void response.end('{}')
    }
    if (!provider.charges.has(key)) provider.charges.set(key, 1)
    if (turn === 'lose') return void request.socket.destroy()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ charge: `ch_${key}` }))
  })
  provider.url = await listen(server)
  return provider
}

/** Charges through the provider. */
export async function charge(url: string, key: string): Promise<{ charge: string }> {
  const response = await fetch(url, { method: 'POST', headers: { 'idempotency-key': key } })
  if (response.status !== 200) throw new ProviderRefused(`the provider answered ${response.status}`)
  return (await response.json()) as { charge: string }
}

export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused'
}
