import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { deliver, type Fault, receive, reply } from './httpFaults.js'
import { listen } from './httpServer.js'

export type { Fault } from './httpFaults.js'

export interface FaultProxy {
  url: string
  /** The bodies of all requests that arrived, as the client sent them. */
  bodies: string[]
  /** How many requests the server was given. */
  delivered(): number
}

/**
 * Stands between a client and a server and does to each request what its turn in `plan` says; past its end, `pass`.
 *
 * @param path where the addresses begin that have turns; all others pass, and are not noted
 */
export async function startFaultProxy(upstreamUrl: string, plan: Fault[], path = '/'): Promise<FaultProxy> {
  const bodies: string[] = []
  let delivered = 0
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const received = await receive(incoming)
    const isNoted = incoming.url?.startsWith(path) === true
    if (isNoted) bodies.push(received.body.toString())
    const fault = isNoted ? (plan.shift() ?? 'pass') : 'pass'
    if (fault === 'cutBefore') return void incoming.socket.destroy()
    if (isNoted) delivered += 1
    const answer = await deliver(upstreamUrl, received)
    if (fault === 'deliver twice') {
      delivered += 1
      await deliver(upstreamUrl, received)
    }
    reply(fault, answer, response)
  }
  const server = createServer((incoming, response) => {
    // A client that left, or a server that was stopped at the end of its test: nobody waits for the rest.
    handle(incoming, response).catch(() => incoming.socket.destroy())
  })
  return { url: await listen(server), bodies, delivered: () => delivered }
}
