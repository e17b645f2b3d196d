import http from 'node:http'
import { wrap } from 'trpc-idempotency/wire'
import type { RowInfo } from './rows.js'
import type { OrderInput } from './shop.js'

export interface Call {
  key: string
  attempt: number
  input?: OrderInput
}

export interface Caller {
  /** Sends one call; gives the id of the order, or null where it was refused. */
  call(call: Call): Promise<number | null>
  close(): void
}

/** As many connections as there are callers, kept alive. */
export const CALLERS = 8

const INPUT: OrderInput = { item: 'tea', cents: 350 }

/** Bare node:http: the client shares the machine with the server, so it should cost little. */
export function createCaller(url: string, keyIn: RowInfo['keyIn']): Caller {
  const agent = new http.Agent({ keepAlive: true, maxSockets: CALLERS })
  const { hostname, port } = new URL(url)
  const post = (body: string, headers: http.OutgoingHttpHeaders) =>
    new Promise<number | null>((resolve, reject) => {
      const length = Buffer.byteLength(body)
      const request = http.request(
        {
          ...{ agent, hostname, port, method: 'POST', path: '/order.create' },
          headers: { 'content-type': 'application/json', 'content-length': length, ...headers },
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (chunk: string) => {
            text += chunk
          })
          response.on('end', () => {
            if (response.statusCode !== 200) return resolve(null)
            resolve((JSON.parse(text) as { result: { data: { id: number } } }).result.data.id)
          })
        },
      )
      request.on('error', reject)
      request.end(body)
    })
  return {
    call({ key, attempt, input = INPUT }) {
      if (keyIn === 'envelope') return post(JSON.stringify(wrap(input, { key, attempt })), {})
      return post(JSON.stringify(input), keyIn === 'header' ? { 'idempotency-key': key } : {})
    },
    close: () => agent.destroy(),
  }
}
