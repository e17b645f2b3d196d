import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { listen } from '../support/listen.js'
import { fateOf, type Odds } from './fate.js'

export interface Network {
  url: string
  /** How many requests reached the server, second deliveries included. */
  requests(): number
  /** The different replies with which the server said yes, those included that nobody received. */
  answers(): ReadonlySet<string>
  /** Waits until the server has replied to everything that was delivered. */
  quiet(): Promise<void>
  close(): void
}

/**
 * Puts an HTTP proxy in front of a server: a network that loses replies and delivers requests twice. No request is lost,
 * so whatever goes wrong goes wrong after the server did the work.
 */
export async function startNetwork(target: string, odds: Odds): Promise<Network> {
  const seen = new Map<string, number>()
  const answers = new Set<string>()
  const underWay = new Set<Promise<unknown>>()
  let requests = 0

  const proxy = createServer((request, response) => {
    // The customer went away while asking: there is nobody to answer.
    carry(request, response).catch(() => response.destroy())
  })

  async function carry(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const customer = String(request.headers['x-customer'])
    const nth = (seen.get(customer) ?? 0) + 1
    seen.set(customer, nth)
    const fate = fateOf(customer, nth, odds)
    const body = await buffer(request)
    const first = deliver(request, body)
    // The reply to a second delivery goes nowhere: the customer asked once.
    if (fate.deliveredAgain === 'meanwhile') void deliver(request, body)
    const reply = await first
    if (fate.deliveredAgain === 'afterwards') void deliver(request, body)
    if (fate.replyLost || reply === undefined) response.destroy()
    else response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.text)
  }

  /** @returns the reply; `undefined` when there is none because the server is being stopped */
  function deliver(request: IncomingMessage, body: Buffer): Promise<Reply | undefined> {
    requests += 1
    const delivery = send(`${target}${request.url}`, request, body).catch(() => undefined)
    underWay.add(delivery)
    void delivery.then((reply) => {
      underWay.delete(delivery)
      if (reply?.status === 200) answers.add(reply.text)
    })
    return delivery
  }

  const { url, close } = await listen(proxy)
  return {
    url,
    requests: () => requests,
    answers: () => answers,
    async quiet() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
    close,
  }
}

interface Reply {
  status: number
  text: string
}

async function send(url: string, { headers }: IncomingMessage, body: Buffer): Promise<Reply> {
  const passedOn = { 'content-type': String(headers['content-type']), 'x-customer': String(headers['x-customer']) }
  const reply = await fetch(url, { method: 'POST', headers: passedOn, body: new Uint8Array(body) })
  return { status: reply.status, text: await reply.text() }
}
