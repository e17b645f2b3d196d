import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** What happens to one request. All but `cutBefore` let the server do its work first. */
export type Fault =
  | 'pass'
  /** The connection ends before the server saw the request. */
  | 'cutBefore'
  /** It ends after the server worked, with no byte of the answer. */
  | 'cutAfter'
  /** The same by a TCP reset. */
  | 'resetAfter'
  /** Half of the answer arrives, then the connection ends. */
  | 'cutBody'
  /** Half of the answer arrives, and claims to be all of it. */
  | 'halfBody'
  | '502 HTML'
  | '502 JSON'
  /** A gateway's error whose form is that of tRPC's, but for the number. */
  | '503 error code'
  | '200 HTML'
  | 'empty 504'
  /** Only the first answer of a batch arrives. */
  | 'half a batch'
  | 'hang'
  /** The request is delivered a second time once the first delivery was answered, and the connection is reset. */
  | 'deliver twice'

/** A request that a proxy has read to its end. */
export interface ReceivedRequest {
  method: string | undefined
  url: string | undefined
  headers: IncomingHttpHeaders
  body: Buffer
}

/** The same for an answer. */
export interface ReceivedAnswer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

export async function receive(incoming: IncomingMessage): Promise<ReceivedRequest> {
  const { method, url, headers } = incoming
  return { method, url, headers, body: await buffer(incoming) }
}

/** Delivers a request. @throws the error of the connection, where it ended before the answer did */
export function deliver(upstreamUrl: string, { method, url, headers, body }: ReceivedRequest): Promise<ReceivedAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(url ?? '/', upstreamUrl), { method, headers }, (answer) => {
      const { statusCode: status = 500, headers } = answer
      buffer(answer).then((body) => resolve({ status, headers, body }), reject)
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}

/** Answers a request, as the fault says. */
export function reply(fault: Fault, answer: ReceivedAnswer, response: ServerResponse): void {
  const { body } = answer
  const { socket } = response.req
  const half = body.subarray(0, Math.floor(body.length / 2))
  const send = (status: number, type: string, text: string | Buffer) => {
    response.writeHead(status, { 'content-type': type })
    response.end(text)
  }
  switch (fault) {
    case 'pass':
      send(answer.status, answer.headers['content-type'] ?? 'application/json', body)
      break
    case 'cutBefore':
    case 'cutAfter':
      socket.destroy()
      break
    case 'resetAfter':
    case 'deliver twice':
      socket.resetAndDestroy()
      break
    case 'cutBody':
      response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': body.length })
      response.write(half, () => socket.destroy())
      break
    case 'halfBody':
      send(answer.status, 'application/json', half)
      break
    case '502 HTML':
      send(502, 'text/html', '<html><h1>Bad Gateway</h1></html>')
      break
    case '502 JSON':
      send(502, 'application/json', '{"message":"Bad Gateway"}')
      break
    case '503 error code':
      send(503, 'application/json', '{"error":{"code":503,"message":"no healthy upstream"}}')
      break
    case '200 HTML':
      send(200, 'text/html', '<html>Please sign in to the guest network</html>')
      break
    case 'empty 504':
      send(504, 'text/plain', '')
      break
    case 'half a batch': {
      const answers: unknown = JSON.parse(body.toString())
      send(answer.status, 'application/json', JSON.stringify(Array.isArray(answers) ? answers.slice(0, 1) : {}))
      break
    }
    case 'hang':
      break
  }
}
