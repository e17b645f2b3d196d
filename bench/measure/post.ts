import { once } from 'node:events'
import http from 'node:http'

/** Posts JSON and gives the answer's text. Not by `fetch`, which costs the one machine three times as much. */
export type Post = (url: string, body: unknown) => Promise<{ status: number; text: string }>

/** Requests that keep their connections. */
export function keepAlive(): { post: Post; close(): void } {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, maxFreeSockets: 1024 })
  return {
    async post(url, body) {
      const text = JSON.stringify(body)
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      const request = http.request(url, { method: 'POST', agent, headers })
      request.end(text)
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      response.setEncoding('utf8')
      let answer = ''
      response.on('data', (chunk: string) => {
        answer += chunk
      })
      await once(response, 'end')
      return { status: response.statusCode ?? 0, text: answer }
    },
    close: () => agent.destroy(),
  }
}
