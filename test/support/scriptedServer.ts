import { createServer, type IncomingHttpHeaders } from 'node:http'
import { listen } from './httpServer.js'

/** What the server answers to one request. */
export type Scripted = { status: number; body: unknown; headers?: Record<string, string> } | 'hang'

export interface ScriptedServer {
  url: string
  requests: { path: string; headers: IncomingHttpHeaders; body: string; at: number }[]
}

/** A server that answers each request by its turn in the script, and the last turn ever after. */
export async function startScriptedServer(script: Scripted[]): Promise<ScriptedServer> {
  const requests: ScriptedServer['requests'] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const turn = script[Math.min(requests.length, script.length - 1)]
    requests.push({ path: request.url ?? '', headers: request.headers, body, at: performance.now() })
    if (turn === undefined || turn === 'hang') return
    response.writeHead(turn.status, { 'content-type': 'application/json', ...turn.headers })
    response.end(JSON.stringify(turn.body))
  })
  return { url: await listen(server), requests }
}

/** A success, as a tRPC server without a transformer sends it. */
export function success(data: unknown): Scripted {
  return { status: 200, body: { result: { data } } }
}

/** A failure, as a tRPC server without a transformer sends it. */
export function failure(code: number, data: Record<string, unknown> = {}): Scripted {
  return { status: 500, body: { error: { message: 'as scripted', code, data } } }
}
