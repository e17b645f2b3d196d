import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { listen } from './httpServer.js'

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

export interface FaultProxy {
  url: string
  /** The bodies of all requests that arrived, as the client sent them. */
  bodies: string[]
  /** How many requests the server was given. */
  delivered(): number
}

interface Request {
  method: string | undefined
  url: string | undefined
  headers: IncomingHttpHeaders
  body: Buffer
}

interface Upstream {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/**
 * Stands between a client and a server and does to each request what its turn in `plan` says; past its end, `pass`.
 *
 * @param path where the addresses begin that have turns; all others pass, and are not noted
 */
export async function startFaultProxy(upstreamUrl: string, plan: Fault[], path = '/'): Promise<FaultProxy> {
  const bodies: string[] = []
  let delivered = 0
  const deliver = (incoming: Request) => {
    delivered += 1
    return forward(upstreamUrl, incoming)
  }
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const received: Request = {
      method: incoming.method,
      url: incoming.url,
      headers: incoming.headers,
      body: await bodyOf(incoming),
    }
    const isNoted = incoming.url?.startsWith(path) === true
    if (isNoted) bodies.push(received.body.toString())
    const fault = isNoted ? (plan.shift() ?? 'pass') : 'pass'
    if (fault === 'cutBefore') return void incoming.socket.destroy()
    const answer = await (isNoted ? deliver(received) : forward(upstreamUrl, received))
    if (fault === 'deliver twice') await deliver(received)
    reply(fault, { answer, response, socket: incoming.socket })
  }
  const server = createServer((incoming, response) => {
    // A client that left, or a server that was stopped at the end of its test: nobody waits for the rest.
    handle(incoming, response).catch(() => incoming.socket.destroy())
  })
  return { url: await listen(server), bodies, delivered: () => delivered }
}

function reply(fault: Fault, to: { answer: Upstream; response: ServerResponse; socket: Socket }): void {
  const { answer, response, socket } = to
  const { body } = answer
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

async function bodyOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function forward(upstreamUrl: string, { method, url, headers, body }: Request): Promise<Upstream> {
  return new Promise((resolve, reject) => {
    const outgoing = request(new URL(url ?? '/', upstreamUrl), { method, headers }, async (answer) => {
      resolve({ status: answer.statusCode ?? 500, headers: answer.headers, body: await bodyOf(answer) })
    })
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
