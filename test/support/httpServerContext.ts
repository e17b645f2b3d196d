import type { IncomingMessage } from 'node:http'
import type { Context } from './shop.js'

/** Who sent a request, by the header `x-user`, and its headers. */
export function contextOf(req: IncomingMessage): Context {
  const user = req.headers['x-user']
  return { user: typeof user === 'string' ? { id: user } : null, headers: req.headers }
}
