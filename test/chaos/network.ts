import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { type Listening, listen } from '../../examples/support/listen.js'
import { deliver, type ReceivedAnswer, type ReceivedRequest, receive, reply } from '../support/httpFaults.js'
import { endOf } from './endOf.js'
import type { FaultSwitch } from './faultSwitch.js'
import type { Delivery, History } from './history.js'
import { HARMLESS, requestFate } from './requestFate.js'
import type { Tally } from './tally.js'

/** Names the call of the link that a request belongs to. */
export const CALL_HEADER = 'x-call'

export interface NetworkSettings {
  seed: number
  history: History
  tally: Tally
  faults: FaultSwitch
  /** The server that gets the next request. It may be dead. */
  next(): { url: string; name: string }
}

export interface Network extends Listening {
  /** Waits until nothing is under way any more. */
  quiet(): Promise<void>
}

/** How much later a late second delivery comes, in ms: after the client has long gone on to other things. */
const LATE_MS = 3000

/**
 * Puts a bad network between clients and servers: it cuts, delays and truncates, and it delivers twice, often to another
 * server. It notes what each delivery came to, those included whose answer nobody receives.
 */
export async function startNetwork({ seed, history, tally, faults, next }: NetworkSettings): Promise<Network> {
  const underWay = new Set<Promise<unknown>>()
  const follow = (work: Promise<unknown>) => {
    const ended = work.catch(() => undefined)
    underWay.add(ended)
    void ended.then(() => underWay.delete(ended))
  }

  async function carry(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await receive(incoming)
    const { name, ...sent } = sentBy(request)
    const { fault, again, delayMs } = faults.areOn() ? requestFate(seed, name) : HARMLESS
    if (fault !== 'pass') tally.count(`request ${fault}`)
    if (again !== 'no') tally.count(`request delivered again ${again}`)
    if (delayMs.request > 0) tally.count('request delayed')
    if (delayMs.answer > 0) tally.count('answer delayed')

    const deliverOne = (copy: boolean) => deliverNoted(request, { ...sent, copy })
    if (again === 'late') follow(pause(LATE_MS).then(() => deliverOne(true)))
    await pause(delayMs.request)
    if (fault === 'cutBefore') return void incoming.socket.destroy()
    if (again === 'at once') follow(deliverOne(true))
    const answer = await deliverOne(false)
    if (again === 'afterwards') follow(deliverOne(true))
    await pause(delayMs.answer)
    reply(fault, answer, response)
  }

  async function deliverNoted(
    request: ReceivedRequest,
    sent: Omit<Delivery, 'kind' | 'server' | 'startMs' | 'endMs' | 'end'>,
  ): Promise<ReceivedAnswer> {
    const { url, name } = next()
    const delivery: Delivery = {
      ...sent,
      kind: 'delivery',
      server: name,
      startMs: Date.now(),
      endMs: Number.POSITIVE_INFINITY,
      end: { kind: 'nothing' },
    }
    history.deliveries.push(delivery)
    try {
      const answer = await deliver(url, request)
      delivery.end = endOf(answer.body.toString())
      return answer
    } finally {
      delivery.endMs = Date.now()
    }
  }

  const server = createServer((incoming, response) => {
    // The client went away, or the server died.
    follow(carry(incoming, response).catch(() => incoming.socket.destroy()))
  })
  return {
    ...(await listen(server)),
    async quiet() {
      while (underWay.size > 0) await Promise.all(underWay)
    },
  }
}

interface Body {
  '~idempotency': { key: string; attempt: number }
  '~input': { cents: number }
}

/** What a request carries, read without the library. */
function sentBy({ headers, body }: ReceivedRequest) {
  const { '~idempotency': carried, '~input': input } = JSON.parse(body.toString()) as Body
  const call = String(headers[CALL_HEADER])
  return {
    ...carried,
    call,
    intent: input.cents,
    customer: String(headers['x-customer']),
    name: `${call}/${carried.attempt}`,
  }
}
