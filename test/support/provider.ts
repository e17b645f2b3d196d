import { createServer } from 'node:http'
import { listen } from './httpServer.js'

/** An outside service, as its tests see it. */
export interface Provider {
  url: string
  /** How often each key was really charged: more than once is what this library exists to prevent. */
  charges: Map<string, number>
  /** The key of every call that arrived, in order. */
  calls: string[]
  /** The different keys that came for one thing: an intent that is charged under two keys is charged twice. */
  keysFor: Map<string, Set<string>>
  /** Asked before and after each charge. */
  hook: (what: string, moment: 'before' | 'after') => void | Promise<void>
  /** How the next calls are answered; past the end, `reply`. */
  plan: ProviderTurn[]
  /** The same for the next calls for one thing, by its name. */
  planFor: Map<string, ProviderTurn[]>
}

/** `lose`: it charges, and the reply is lost. `refuse`: it does not charge, and says so. */
export type ProviderTurn = 'reply' | 'lose' | 'refuse'

/** A payment provider with idempotency keys of its own: one key is charged once, however often it is asked. */
export async function startProvider(): Promise<Provider> {
  const provider: Provider = {
    url: '',
    charges: new Map(),
    calls: [],
    keysFor: new Map(),
    hook: () => undefined,
    plan: [],
    planFor: new Map(),
  }
  const server = createServer(async (request, response) => {
    const key = String(request.headers['idempotency-key'])
    const what = String(request.headers['x-what'] ?? key)
    await provider.hook(what, 'before')
    provider.calls.push(key)
    provider.keysFor.set(what, (provider.keysFor.get(what) ?? new Set()).add(key))
    const turn = provider.planFor.get(what)?.shift() ?? provider.plan.shift() ?? 'reply'
    if (turn === 'refuse') {
      response.writeHead(402)
      return void response.end('{}')
    }
    if (!provider.charges.has(key)) provider.charges.set(key, 1)
    await provider.hook(what, 'after')
    if (turn === 'lose') return void request.socket.destroy()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ charge: `ch_${key}` }))
  })
  provider.url = await listen(server)
  return provider
}

/** Charges through the provider. @param what it is for, so that the provider can tell one thing from another */
export async function charge(url: string, key: string, what = key): Promise<{ charge: string }> {
  const response = await fetch(url, { method: 'POST', headers: { 'idempotency-key': key, 'x-what': what } })
  if (response.status !== 200) throw new ProviderRefused(`the provider answered ${response.status}`)
  return (await response.json()) as { charge: string }
}

export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused'
}
